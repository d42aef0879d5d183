import { until } from '#kit/cli/moments.ts';
import { visibleLine, visibleLines } from '#kit/cli/terminal-text.ts';
import type { Gate } from '../../action.ts';
import type { PlanFacts } from '../../runs/event.ts';
import type { ActionState, Run } from '../../runs/run.ts';
import { apart, type Cell, table } from '../layout.ts';
import { type Suggestions, shortRunId } from '../suggestion.ts';
import type { Terminal } from '../terminal.ts';
import { actionText, riskPaint, riskWord } from './action-text.ts';
import { historyColumn } from './history-text.ts';
import { nextSteps, stepLines } from './next-steps.ts';

/** What `plan-issue` shows: where the run stands, each proposed action, and what to type next. */
export function planView(run: Run, terminal: Terminal, suggestions: Suggestions, expiryDays: number): string {
  const { paint } = terminal;
  const lines = [...headLines(run, terminal), ''];
  lines.push(...actionLines(run, terminal), '');
  const body = onlyComment(run);
  if (body !== null) lines.push('The comment would say:', '', ...quoted(body, terminal), '');
  lines.push(...noticeLines(run, terminal));
  lines.push(
    `Nothing was written to the repository. Run ${paint.bold(run.run_id)}, approvals expire ${expiryDays === 1 ? 'in 1 day' : `in ${expiryDays} days`}.`,
  );
  lines.push(...stepLines(nextSteps(run, suggestions), terminal));
  return `${lines.join('\n')}\n`;
}

/** The issue and the base: two lines that open most views of a run. */
export function headLines(run: Run, terminal: Terminal): string[] {
  const { paint, symbols } = terminal;
  const { owner, repo, number, role, planner } = run.request;
  const name = visibleLine(`${owner}/${repo}#${number}`);
  const title = run.issue === null ? '' : visibleLine(run.issue.title);
  const author =
    run.issue === null ? '' : `by ${visibleLine(run.issue.author)} (${visibleLine(run.issue.association)})`;
  const head = apart(`${name}  ${title}`, author, terminal.width);
  const painted =
    title === ''
      ? paint.bold(name)
      : head.replace(`${name}  ${title}`, () => `${name}  ${paint.bold(title)}`);
  const { source, plan, usage } = run;
  const facts = [
    ...(source === null
      ? []
      : [`base ${visibleLine(source.base_branch)} @ ${source.base_commit.slice(0, 7)}`]),
    `role ${visibleLine(role)}`,
    `planner ${visibleLine(planner)}`,
    ...(usage === null ? [] : [visibleLine(usage.model)]),
    ...(run.request.dry_run ? ['rehearsal'] : []),
    ...(plan === null ? [] : contextText(plan)),
  ];
  return [painted.trimEnd(), facts.join(` ${symbols.dot} `)];
}

/** The table of actions by gate, as planned. */
export function actionLines(run: Run, terminal: Terminal): string[] {
  const { paint, symbols } = terminal;
  const mains = run.actions.map(({ definition }) => actionText(definition, symbols));
  const shortMain = Math.min(
    24,
    Math.max(0, ...mains.filter(({ note }) => note !== '').map(({ main }) => main.length)),
  );
  const history = historyColumn(run.actions);
  const header: Cell[] = [
    { text: '#', align: 'right' },
    { text: 'action' },
    { text: 'risk' },
    { text: '', align: 'right' },
    ...history.header,
    { text: 'what' },
  ].map((cell) => ({ paint: paint.dim, ...cell }) as Cell);
  const rows = run.actions.map((action, index): Cell[] => {
    const { definition } = action;
    const { main, note } = mains[index]!;
    return [
      { text: String(definition.ordinal), align: 'right' },
      { text: definition.kind },
      { text: riskWord(definition.risk), paint: riskPaint(definition.risk, paint) },
      { text: `${definition.risk_score} `, align: 'right' },
      ...history.cellsOf(action),
      { text: note === '' ? main : `${main.padEnd(shortMain)}  ${note}` },
    ];
  });
  const lines = table([header, ...rows], {
    indent: 5,
    gap: 2,
    width: terminal.width,
    ellipsis: symbols.ellipsis,
  });
  const [head, ...body] = lines;
  return [head!, ...underGates(run.actions, body, terminal)];
}

/** Puts the name of each gate above its first line; `lines` belong to `actions` one to one. */
export function underGates(
  actions: readonly ActionState[],
  lines: readonly string[],
  terminal: Terminal,
): string[] {
  const out: string[] = [];
  let gate: Gate | null = null;
  actions.forEach(({ definition }, index) => {
    if (definition.gate !== gate) out.push(`  ${terminal.paint.dim(definition.gate)}`);
    gate = definition.gate;
    out.push(lines[index]!);
  });
  return out;
}

/** What planning had to say. */
export function noticeLines(run: Run, terminal: Terminal): string[] {
  const notices = run.plan?.notices ?? [];
  const failed = (run.plan?.checks ?? []).filter(({ passed }) => !passed);
  const lines = [
    ...notices.map((notice) => visibleLine(notice)),
    ...failed.map(({ name, detail }) => `${visibleLine(name)}: ${visibleLine(detail)}`),
  ];
  if (lines.length === 0) return [];
  return [...lines.map((line) => `${terminal.paint.yellow('note')}  ${line}`), ''];
}

/** When the first of the approvals in force ends; null when there is none. */
export function firstExpiry(run: Run, now: Date): string | null {
  const ends = run.actions
    .filter(({ approval, state }) => approval === 'approved' && state === 'pending')
    .flatMap(({ decision }) => decision?.expires_at ?? []);
  return ends.length === 0 ? null : until(ends.sort()[0]!, now);
}

export function quoted(text: string, terminal: Terminal): string[] {
  return visibleLines(text.trimEnd())
    .split('\n')
    .map((line) => `  ${terminal.paint.dim('|')} ${line}`.trimEnd());
}

export function runName(run: Run): string {
  const { owner, repo, number } = run.request;
  return visibleLine(`${owner}/${repo}#${number}`).concat(`  ${shortRunId(run.run_id)}`);
}

function onlyComment(run: Run): string | null {
  const [first, second] = run.actions;
  if (first === undefined || second !== undefined) return null;
  return first.definition.kind === 'comment_issue' ? first.definition.params.body : null;
}

/** Nothing found differs from nobody asked. */
function contextText({ memories, files_of_context: files, context }: PlanFacts): string[] {
  const asked = context !== undefined;
  const parts = [
    ...(memories > 0 || asked ? [`${memories} ${memories === 1 ? 'memory' : 'memories'}`] : []),
    ...(files > 0 || asked ? [`${files} ${files === 1 ? 'file' : 'files'} of context`] : []),
  ];
  return parts.length === 0 ? [] : [parts.join(', ')];
}

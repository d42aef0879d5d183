import { wrapLine } from '#kit/cli/fit-text.ts';
import { until } from '#kit/cli/moments.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { issueAuthorText, patchAuthorText } from '#kit/contracts/patch-author.ts';
import { plannerText, roleText } from '#kit/contracts/planned-by.ts';
import { counted } from '#kit/counted.ts';
import { subjectOf } from '#kit/repository-name.ts';
import { approvalEnd } from '../../approval/progress.ts';
import type { PlanFacts } from '../../runs/event.ts';
import type { Run } from '../../runs/run.ts';
import { apart, facts, quoted } from '../layout.ts';
import { type Suggestions, stepLines } from '../suggestions.ts';
import type { Terminal } from '../terminal.ts';
import {
  actionTable,
  actionText,
  historyColumn,
  needsColumn,
  riskCells,
  riskColumns,
  whatColumn,
} from './action-table.ts';
import { nextSteps } from './next-steps.ts';

/**
 * What `plan-issue` shows: where the run stands, each proposed action, and what to type next.
 * @param suggestions null where what comes next is asked
 */
export function planView(
  run: Run,
  terminal: Terminal,
  suggestions: Suggestions | null,
  expiryDays: number,
): string {
  const lines = [...headLines(run, terminal), '', ...actionLines(run, terminal), ''];
  const body = onlyComment(run);
  if (body !== null) lines.push('The comment would say:', '', ...quoted(body, terminal), '');
  if (body !== null && run.request.planner === 'patch') lines.push(...noteLines(withoutModel, terminal), '');
  lines.push(
    ...noticeLines(run, terminal),
    `Nothing was written to the repository. Run ${terminal.paint.bold(run.run_id)}, approvals expire in ${counted(expiryDays, 'day')}.`,
    ...(suggestions === null ? [] : stepLines(nextSteps(run, suggestions, terminal.now()), terminal)),
  );
  return `${lines.join('\n')}\n`;
}

const withoutModel =
  'This plan was made without a model: only a patch in the issue can change code. ./core model add configures a model, ./core agent add a coding agent.';

/** The issue, who wrote the patch, and the base: the lines that open most views of a run. */
export function headLines(run: Run, terminal: Terminal): string[] {
  const { paint } = terminal;
  const { role, planner, agent } = run.request;
  const name = visibleLine(subjectOf(run.request));
  const title = run.issue === null ? '' : visibleLine(run.issue.title);
  const author = run.issue === null ? '' : visibleLine(issueAuthorText(run.request.number, run.issue));
  const head = apart(`${name}  ${title}`.trimEnd(), author, terminal.width);
  const bold = title === '' ? name : title;
  const painted = head.map((line) => line.replace(bold, () => paint.bold(bold)));
  const { source, plan, usage } = run;
  const parts = [
    ...(source === null ? [] : [`base ${source.base_branch} @ ${source.base_commit.slice(0, 7)}`]),
    roleText(role),
    plannerText(planner, agent),
    ...(usage === null ? [] : [usage.model]),
    ...(run.request.dry_run ? ['dry run'] : []),
    ...(plan === null ? [] : contextText(plan)),
  ];
  return [...painted, ...patchAuthorLines(run, terminal), ...facts(parts.map(visibleLine), terminal)];
}

/** Who wrote the patch; no line where there is none. */
export function patchAuthorLines({ plan }: Run, terminal: Terminal): string[] {
  const text = patchAuthorText(plan);
  return text === null ? [] : wrapLine(visibleLine(text), terminal.width);
}

/** The table of actions by gate, as planned. */
function actionLines(run: Run, terminal: Terminal): string[] {
  const texts = run.actions.map(({ definition }) => actionText(definition, terminal.symbols));
  const noted = texts.filter(({ note }) => note !== '').map(({ main }) => main.length);
  const mainWidth = Math.min(24, Math.max(0, ...noted));
  const history = historyColumn(run.actions);
  const needs = needsColumn(run);
  const columns = {
    columns: [...riskColumns, ...history.columns, ...needs.columns, whatColumn],
    cells(action: Run['actions'][number], index: number) {
      const { main, note } = texts[index]!;
      return [
        ...riskCells(action.definition, terminal.paint),
        ...history.cells(action, index),
        ...needs.cells(action, index),
        note === '' ? main : `${main.padEnd(mainWidth)}  ${note}`,
      ];
    },
  };
  return actionTable(run.actions, columns, terminal);
}

/** Notices of the planning, and its checks that failed. */
export function noticeLines(run: Run, terminal: Terminal): string[] {
  const failed = (run.plan?.checks ?? []).filter(({ passed }) => !passed);
  const lines = [
    ...(run.plan?.notices ?? []),
    ...failed.map(({ name, detail }) => `${visibleLine(name)}: ${visibleLine(detail)}`),
  ];
  if (lines.length === 0) return [];
  return [...lines.flatMap((line) => noteLines(line, terminal)), ''];
}

/** A notice, whose further lines stand below it as they are: they may be copied. */
function noteLines(notice: string, { paint, width, named }: Terminal): string[] {
  const [first = '', ...rest] = named(notice).split('\n').map(visibleLine);
  return [...wrapLine(`${paint.yellow('note')}  ${first}`, width), ...rest.map((line) => `      ${line}`)];
}

/** When the first of the approvals in force ends; null when there is none. */
export function firstExpiry(run: Run, now: Date): string | null {
  const ends = run.actions
    .filter(({ approval, state }) => approval === 'approved' && state === 'pending')
    .flatMap((action) => approvalEnd(action) ?? []);
  return ends.length === 0 ? null : until(ends.sort()[0]!, now);
}

function onlyComment({ actions: [first, second] }: Run): string | null {
  if (first === undefined || second !== undefined) return null;
  return first.definition.kind === 'comment_issue' ? first.definition.params.body : null;
}

/** `0` where the context service found nothing; left out where it was not asked. */
function contextText({ memories, files_of_context: files, context }: PlanFacts): string[] {
  const asked = context !== undefined;
  const parts = [
    ...(memories > 0 || asked ? [`${memories} ${memories === 1 ? 'memory' : 'memories'}`] : []),
    ...(files > 0 || asked ? [`${counted(files, 'file')} of context`] : []),
  ];
  return parts.length === 0 ? [] : [parts.join(', ')];
}

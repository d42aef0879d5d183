import type { Command } from 'commander';
import { until } from '#kit/cli/moments.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { gates } from '#kit/contracts/vocabulary.ts';
import { exitCodes, InvalidInput } from '#kit/errors.ts';
import type { ActionSelection } from '../../agent.ts';
import { actionView as actionJson, runView as runJson } from '../../http/run-view.ts';
import { isOpen, type Run as StoredRun } from '../../runs/run.ts';
import {
  answer,
  type CommandContext,
  type Run,
  type RunOption,
  runAndActions,
  withActions,
} from '../command.ts';
import { counted } from '../layout.ts';
import { oneOfWords, upTo } from '../option-values.ts';
import { selectActions } from '../selection.ts';
import { commandLine, nextSteps, runName, shortRunId, stepLines } from '../views/next-steps.ts';

type Decision = 'approve' | 'reject';

interface DecideOptions extends RunOption, Omit<ActionSelection, 'actions' | 'up_to'> {
  readonly upTo?: number;
  readonly reason?: string;
  readonly anyway?: boolean;
}

/** The command is the decision: it names the digest of each action that it shows. */
export function decide(decision: Decision) {
  return (program: Command, run: Run): void => {
    const approves = decision === 'approve';
    const command = withActions(program.command(decision))
      .description(
        approves
          ? 'approve actions, by number, act_… or kind'
          : 'reject actions; the reason is shown to the next planning',
      )
      .option('--gate <gate>', gates.join(' or '), oneOfWords('--gate', gates))
      .option('--all', 'every action that still waits')
      .option('--up-to <n>', 'the actions up to this number', upTo)
      .option('--reason <text>', approves ? 'why' : 'why (required)');
    if (approves) command.option('--anyway', 'also what builds on a validation that failed');
    command.action(
      run(async (context, id: string | undefined, names: string[], options: DecideOptions) => {
        const { upTo: up_to, reason = null, anyway = false, runId: _, ...rest } = options;
        const given = await runAndActions(context, id, names, options, decision);
        const selection = { ...rest, actions: given.actions, ...(up_to === undefined ? {} : { up_to }) };
        return decided(context, decision, given.id, selection, { reason, anyway });
      }),
    );
  };
}

async function decided(
  context: CommandContext,
  decision: Decision,
  id: string,
  selection: ActionSelection,
  { reason, anyway }: { readonly reason: string | null; readonly anyway: boolean },
): Promise<number> {
  const { services, terminal, suggestions } = context;
  const before = await services.agent.run(id);
  const { actions, gate, all, up_to } = selection;
  if (actions.length === 0 && gate === undefined && all !== true && up_to === undefined)
    return explainSelection(context, decision, before);
  if (decision === 'reject' && (reason ?? '').trim() === '') {
    throw new InvalidInput(
      'reason_required',
      'reject needs --reason TEXT: the next planning of this issue learns from it',
    );
  }
  const { selected, leftRejected } = selectActions(before, selection, decision);
  const ids = selected.map(({ definition }) => definition.action_id);
  const run = await services.agent.decide({
    run_id: before.run_id,
    decision,
    actions: selected.map(({ definition: { action_id, digest } }) => ({ action_id, digest })),
    reason,
    claimed_approver: null,
    anyway,
    by: await services.person(),
  });
  const { digestLines, movedLines } = await import('../views/of-run.ts');
  return answer(context, runJson(run), () => {
    const { paint } = terminal;
    const chosen = run.actions.filter(({ definition }) => ids.includes(definition.action_id));
    const { approver = '', expires_at = null } = chosen[0]?.decision ?? {};
    const what = `${counted(chosen.length, 'action')} as ${visibleLine(approver)}`;
    const expiry = expires_at === null ? '' : `, expires ${until(expires_at, terminal.now())}`;
    const head =
      decision === 'approve'
        ? `${paint.green('Approved')} ${what}${expiry}`
        : `${paint.red('Rejected')} ${what}: ${visibleLine(reason ?? '')}`;
    const lines = [
      runName(run),
      head,
      '',
      ...digestLines(chosen, terminal),
      '',
      ...leftRejected.flatMap(({ definition: { ordinal, kind } }) => [
        `${paint.yellow('note')}  ${ordinal} ${kind} stays rejected; name it by its number to approve it`,
        '',
      ]),
      ...(anyway ? failedValidationLines(run, terminal) : []),
      ...(decision === 'approve' ? movedLines(run, terminal) : []),
      ...stepLines(nextSteps(run, suggestions, terminal.now()), terminal),
    ];
    return `${lines.join('\n')}\n`;
  });
}

/** Approved all the same. */
function failedValidationLines({ actions }: StoredRun, { paint }: CommandContext['terminal']): string[] {
  const failed = actions.find(({ outcome }) => outcome?.code === 'validation_failed');
  if (failed === undefined) return [];
  const { ordinal, kind } = failed.definition;
  const what = `${ordinal} ${kind} failed: ${failed.outcome!.message}; an execution validates again first`;
  return [`${paint.yellow('note')}  ${visibleLine(what)}`, ''];
}

/** Without a selection nothing is decided: shows what waits, and how to select it. */
async function explainSelection(
  context: CommandContext,
  decision: Decision,
  run: StoredRun,
): Promise<number> {
  const { terminal, suggestions } = context;
  const { digestLines } = await import('../views/of-run.ts');
  const waiting = run.actions.filter(
    (action) => isOpen(action) && (decision === 'reject' || action.approval === 'required'),
  );
  if (context.json)
    return answer(
      context,
      { run_id: run.run_id, waiting: waiting.map(actionJson) },
      () => '',
      exitCodes.usage,
    );
  const reason = decision === 'reject' ? ['--reason', 'TEXT'] : [];
  const line = (...words: string[]) =>
    commandLine(suggestions, decision, shortRunId(run.run_id), ...words, ...reason);
  const first = waiting[0]?.definition;
  const lines =
    first === undefined
      ? [
          `Nothing waits for a decision; the run is ${run.status}.`,
          ...stepLines(nextSteps(run, suggestions, terminal.now()), terminal),
        ]
      : [
          `Nothing was decided: say which actions to ${decision}.`,
          '',
          ...digestLines(waiting, terminal),
          '',
          ...stepLines(
            [
              { label: 'one gate', command: line('--gate', first.gate) },
              { label: 'some', command: line(String(first.ordinal)) },
              { label: 'up to', command: line('--up-to', String(first.ordinal)) },
              { label: 'all', command: line('--all') },
            ],
            terminal,
          ),
        ];
  terminal.err(`${[runName(run), ...lines].join('\n')}\n`);
  return exitCodes.usage;
}

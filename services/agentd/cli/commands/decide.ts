import { until } from '#kit/cli/moments.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { exitCodes, InvalidInput } from '#kit/errors.ts';
import type { ActionSelection } from '../../agent.ts';
import { actionView as actionJson, runView as runJson } from '../../http/run-view.ts';
import type { ActionState, Run } from '../../runs/run.ts';
import type { CommandContext } from '../command-context.ts';
import { writeJson } from '../json-output.ts';
import { selectActions } from '../selection.ts';
import { commandLine, shortRunId } from '../suggestion.ts';
import { digestLines } from '../views/actions-view.ts';
import { nextSteps, stepLines } from '../views/next-steps.ts';
import { runName } from '../views/plan-view.ts';
import { movedLines } from '../views/run-view.ts';

export interface DecideOptions extends ActionSelection {
  readonly reason?: string;
}

/** The command is the decision: it names the digest of each action that it shows. */
export async function decide(
  context: CommandContext,
  decision: 'approve' | 'reject',
  id: string,
  options: DecideOptions,
): Promise<number> {
  const { services, terminal, suggestions } = context;
  const agent = await services.agent();
  const before = await agent.run(id);
  if (!namesSomething(options)) return explainSelection(context, decision, before);
  if (decision === 'reject' && (options.reason ?? '').trim() === '') {
    throw new InvalidInput(
      'reason_required',
      'reject needs --reason TEXT: the next planning of this issue learns from it',
    );
  }
  const { selected, leftRejected } = selectActions(before, options, decision);
  const run = await agent.decide({
    run_id: before.run_id,
    decision,
    actions: selected.map(({ definition }) => ({
      action_id: definition.action_id,
      digest: definition.digest,
    })),
    reason: options.reason ?? null,
    claimed_approver: null,
    by: await services.person(),
  });
  if (context.json) {
    writeJson(terminal, runJson(run));
    return exitCodes.done;
  }
  const { paint } = terminal;
  const decided = run.actions.filter(({ definition }) =>
    selected.some((action) => action.definition.action_id === definition.action_id),
  );
  const count = `${decided.length} ${decided.length === 1 ? 'action' : 'actions'}`;
  const approver = visibleLine(decided[0]?.decision?.approver ?? '');
  const expiry = decided[0]?.decision?.expires_at ?? null;
  const head =
    decision === 'approve'
      ? `${paint.green('Approved')} ${count} as ${approver}${expiry === null ? '' : `, expires ${until(expiry, terminal.now())}`}`
      : `${paint.red('Rejected')} ${count} as ${approver}: ${visibleLine(options.reason ?? '')}`;
  const lines = [runName(run), head, '', ...digestLines(run, decided, terminal), ''];
  for (const action of leftRejected)
    lines.push(
      `${paint.yellow('note')}  ${action.definition.ordinal} ${action.definition.kind} stays rejected; name it by its number to approve it`,
      '',
    );
  if (decision === 'approve') lines.push(...movedLines(run, terminal));
  lines.push(...stepLines(nextSteps(run, suggestions), terminal));
  terminal.out(`${lines.join('\n')}\n`);
  return exitCodes.done;
}

function namesSomething({ actions, gate, all, up_to }: ActionSelection): boolean {
  return actions.length > 0 || gate !== undefined || all === true || up_to !== undefined;
}

/** Without a selection nothing is decided: shows what waits, and how to say it. */
function explainSelection(context: CommandContext, decision: 'approve' | 'reject', run: Run): number {
  const { terminal, suggestions } = context;
  const waiting = run.actions.filter(
    (action) => isOpen(action) && (decision === 'reject' || action.approval === 'required'),
  );
  const id = shortRunId(run.run_id);
  const reason = decision === 'reject' ? ['--reason', 'TEXT'] : [];
  const line = (...words: string[]) => commandLine(suggestions, decision, id, ...words, ...reason);
  if (context.json) {
    writeJson(terminal, { run_id: run.run_id, waiting: waiting.map(actionJson) });
    return exitCodes.usage;
  }
  const lines = [runName(run)];
  if (waiting.length === 0) {
    lines.push(`Nothing waits for a decision; the run is ${run.status}.`);
    lines.push(...stepLines(nextSteps(run, suggestions), terminal));
  } else {
    const first = waiting[0]!.definition;
    lines.push(`Nothing was decided: say which actions to ${decision}.`, '');
    lines.push(...digestLines(run, waiting, terminal), '');
    lines.push(
      ...stepLines(
        [
          { label: 'one gate', command: line('--gate', first.gate) },
          { label: 'some', command: line(String(first.ordinal)) },
          { label: 'up to', command: line('--up-to', String(first.ordinal)) },
          { label: 'all', command: line('--all') },
        ],
        terminal,
      ),
    );
  }
  terminal.err(`${lines.join('\n')}\n`);
  return exitCodes.usage;
}

function isOpen({ state }: ActionState): boolean {
  return state === 'pending' || state === 'refused' || state === 'blocked';
}

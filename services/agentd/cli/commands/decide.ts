import type { Command } from 'commander';
import { choice } from '#kit/cli/choice.ts';
import { until } from '#kit/cli/moments.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { gates } from '#kit/contracts/vocabulary.ts';
import { counted } from '#kit/counted.ts';
import { Conflict, exitCodes, InvalidInput } from '#kit/errors.ts';
import type { ActionSelection, DecisionRequest } from '../../agent.ts';
import { actionView as actionJson, runView as runJson } from '../../http/run-view.ts';
import { type ActionState, isOpen, type Run as StoredRun } from '../../runs/run.ts';
import type { Signable, SignRequest } from '../../signatures/sign-decisions.ts';
import {
  answer,
  type CommandContext,
  type Run,
  type RunOption,
  runAndActions,
  withActions,
} from '../command.ts';
import { notEmpty, upTo } from '../option-values.ts';
import { selectActions } from '../selection.ts';
import { commandLine, shortRunId, stepLines } from '../suggestions.ts';
import { nextSteps, runName } from '../views/next-steps.ts';

type Decision = 'approve' | 'reject';

interface DecideOptions extends RunOption, Omit<ActionSelection, 'actions' | 'up_to'> {
  readonly upTo?: number;
  readonly reason?: string;
  readonly anyway?: boolean;
  readonly sign?: boolean;
  readonly key?: string;
  readonly digest?: readonly string[];
  readonly as?: string;
}

/** How a decision is made, beside which actions it is about. */
interface Manner {
  readonly reason: string | null;
  readonly anyway: boolean;
  readonly sign: boolean;
  readonly key: string | undefined;
  /** Of the selected actions as the person saw them; empty: as they are now. */
  readonly digests: readonly string[];
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
      .addOption(choice('--gate <gate>', 'all actions of it', gates))
      .option('--all', 'every action that still waits')
      .option('--up-to <n>', 'the actions up to this number', upTo)
      .option('--reason <text>', approves ? 'why' : 'why (required)');
    if (approves) command.option('--anyway', 'also what builds on a validation that failed');
    withSigning(command)
      .option(
        '--digest <sha256>',
        'of the action as you saw it; only if it is still that (repeated for several)',
        (digest: string, before: readonly string[] = []) => [...before, digest],
      )
      .option(
        '--as <name>',
        'with --sign: decide nothing here, but print the signed request for each action, of the token of this name, for a daemon elsewhere',
        notEmpty('--as'),
      );
    command.action(
      run(async (context, id: string | undefined, names: string[], options: DecideOptions) => {
        const { upTo: up_to, reason = null, anyway = false, runId: _, ...others } = options;
        const { sign = false, key, digest: digests = [], as: _as, ...rest } = others;
        if (options.as !== undefined) return printRequest(context, decision, id, names, options);
        const given = await runAndActions(context, id, names, options, decision, 'decide');
        const selection = { ...rest, actions: given.actions, ...(up_to === undefined ? {} : { up_to }) };
        return decided(context, decision, given.id, selection, { reason, anyway, sign, key, digests });
      }),
    );
  };
}

async function decided(
  context: CommandContext,
  decision: Decision,
  id: string,
  selection: ActionSelection,
  { reason, anyway, sign, key, digests }: Manner,
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
  const by = await services.person();
  const { run_id } = before;
  const seen = asSeen(selected, digests);
  const decidedOn = sign
    ? await signed(context, { run_id, decision, actions: seen, approver: by.name }, key)
    : seen;
  const run = await services.agent.decide({
    run_id,
    decision,
    actions: decidedOn,
    reason,
    claimed_approver: null,
    anyway,
    by,
  });
  const { digestLines, movedLines, patchAuthorLines, progressLines } = await import('../views/of-run.ts');
  return answer(context, runJson(run), () => {
    const { paint } = terminal;
    const chosen = run.actions.filter(({ definition }) => ids.includes(definition.action_id));
    const own = chosen.flatMap(({ decisions }) => decisions.filter(({ approver }) => approver === by.name));
    const expires_at = own[0]?.expires_at ?? null;
    const what = `${counted(chosen.length, 'action')} as ${visibleLine(by.name)}`;
    const expiry = expires_at === null ? '' : `, expires ${until(expires_at, terminal.now())}`;
    const head =
      decision === 'approve'
        ? `${paint.green('Approved')} ${what}${expiry}`
        : `${paint.red('Rejected')} ${what}: ${visibleLine(reason ?? '')}`;
    const lines = [
      runName(run),
      ...patchAuthorLines(run, terminal),
      head,
      '',
      ...digestLines(chosen, terminal),
      '',
      ...withEmptyLine(progressLines(chosen, terminal)),
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

/**
 * The body of `POST /v1/runs/{run_id}/actions/{action_id}/approval`, signed, on a line for each action. Nothing of the run has to be here: what is signed is
 * what was typed.
 */
async function printRequest(
  context: CommandContext,
  decision: Decision,
  id: string | undefined,
  names: readonly string[],
  { runId, sign, key, as: approver = '', digest: digests = [], reason, anyway }: DecideOptions,
): Promise<number> {
  const [run_id, ...ids] = [runId, id, ...names].filter((word) => word !== undefined);
  const actions = ids.map((action_id, index) => ({ action_id, digest: digests[index] ?? '' }));
  const whole =
    /^run_[0-9a-f-]{36}$/.test(run_id ?? '') &&
    actions.length > 0 &&
    actions.length === digests.length &&
    actions.every(({ action_id, digest }) => /^act_\w+$/.test(action_id) && /^[0-9a-f]{64}$/.test(digest));
  if (sign !== true || !whole)
    throw new InvalidInput(
      'invalid_option',
      `--as needs --sign, one run, and actions with the digest of each in full, in the same order; for example ${decision} run_… act_… --digest … --sign --as ${approver}`,
    );
  for (const { digest, signature } of await signed(
    context,
    { run_id: run_id!, decision, actions, approver },
    key,
  ))
    context.terminal.out(`${JSON.stringify({ decision, digest, reason, anyway, signature })}\n`);
  return exitCodes.done;
}

/** Options of a command that decides. */
export function withSigning(command: Command): Command {
  return command
    .option('--sign', 'sign it with your SSH key')
    .option(
      '--key <file>',
      "the key: a file, or a public key of your ssh-agent (default: signing.key, else git's user.signingkey)",
      notEmpty('--key'),
    );
}

/** Signs what is decided; the key may ask for a passphrase or a touch. */
export async function signed(
  { services, terminal }: CommandContext,
  request: Omit<SignRequest, 'days' | 'key' | 'actions'> & Pick<DecisionRequest, 'actions'>,
  given: string | undefined,
): Promise<DecisionRequest['actions']> {
  const { signDecisions } = await import('../../signatures/sign-decisions.ts');
  const key = await services.signingKey(given);
  const days = await services.approvalDays();
  terminal.err(`signing ${counted(request.actions.length, 'decision')} with ${visibleLine(key)}\n`);
  return signDecisions({ ...request, days, key });
}

/**
 * The actions with their digests, which are those that the person names, if they name any.
 * @throws InvalidInput (`invalid_option`), Conflict (`digest_mismatch`)
 */
function asSeen(selected: readonly ActionState[], digests: readonly string[]): Signable[] {
  const seen = selected.map(({ definition: { action_id, digest } }) => ({ action_id, digest }));
  if (digests.length === 0) return seen;
  if (digests.length !== seen.length)
    throw new InvalidInput(
      'invalid_option',
      `--digest is given ${counted(digests.length, 'time')} for ${counted(seen.length, 'action')}: each action needs its own`,
    );
  const other = selected.find(({ definition }) => !digests.includes(definition.digest));
  if (other === undefined) return seen;
  const { ordinal, kind, digest } = other.definition;
  throw new Conflict(
    'digest_mismatch',
    `${ordinal} ${kind} has the digest ${digest}, and you named another; look at it again`,
  );
}

function withEmptyLine(lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [...lines, ''];
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
  const { digestLines, patchAuthorLines } = await import('../views/of-run.ts');
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
  terminal.err(`${[runName(run), ...patchAuthorLines(run, terminal), ...lines].join('\n')}\n`);
  return exitCodes.usage;
}

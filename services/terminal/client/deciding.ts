import { codeOf, Failed } from '#kit/errors.ts';
import type { Effect } from '../state/messages.ts';
import type { Decision, SignedDecision } from '../state/state.ts';
import type { Daemon } from './daemon.ts';
import { whatWentWrong } from './what-went-wrong.ts';

type Deciding = Omit<Effect & { kind: 'decide' }, 'kind' | 'said' | 'actions'> & {
  readonly actions: readonly SignedDecision[];
};

/** Where deciding one action after the other ended. */
export interface Refusal {
  readonly error: unknown;
  /** Not decided; what was refused is the first of them. */
  readonly left: readonly SignedDecision[];
}

/** Actions with the digests that were shown, as words of a command. */
export function signedWords(actions: readonly Decision[]): string {
  const digests = actions.map(({ digest }) => `--digest ${digest}`);
  return [...actions.map(({ action_id }) => action_id), ...digests].join(' ');
}

/** @returns null where all of them are decided */
export async function decideInOrder(
  daemon: Daemon,
  { run_id, decision, actions, reason, anyway }: Deciding,
): Promise<Refusal | null> {
  let done = 0;
  let already: unknown;
  for (const [index, action] of actions.entries()) {
    try {
      await daemon.decide(run_id, decision, action, { reason, anyway });
      done++;
    } catch (error) {
      // Of a gate, what this person has approved before waits for others.
      if (codeOf(error) !== 'approved_already') return { error, left: actions.slice(index) };
      already = error;
    }
  }
  return done === 0 && already !== undefined ? { error: already, left: actions } : null;
}

/** What refused one of them, with how many were decided before it. */
export function inPart({ error, left }: Refusal, { decision, actions }: Deciding): unknown {
  const done = actions.length - left.length;
  if (done === 0) return error;
  const word = decision === 'approve' ? 'Approved' : 'Rejected';
  const text = `${word} ${done} of ${actions.length}; then: ${whatWentWrong(error)}`;
  return new Failed('decided_in_part', text, { cause: error });
}

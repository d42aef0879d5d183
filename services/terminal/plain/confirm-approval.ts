import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { ProposedAction } from '#kit/contracts/action.ts';
import { approvalWord, criticalOf } from '#kit/contracts/approval-word.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Daemon } from '../client/daemon.ts';
import { decideInOrder, inPart, signedWords } from '../client/deciding.ts';
import { whatWentWrong } from '../client/what-went-wrong.ts';
import { anywayWord } from '../input/deciding.ts';
import { decisionOn, readiness } from '../state/decisions.ts';
import type { OpenRun } from '../state/state.ts';
import type { Dialogue } from './dialogue.ts';

export interface Confirming {
  readonly daemon: Daemon;
  readonly dialogue: Dialogue;
  /** A command of Core, as it can be pasted. */
  readonly command: (words: string) => string;
}

/** Approves by the word that is asked for; where more is asked, says what or asks for that. */
export async function confirmApproval(
  { dialogue, daemon, command }: Confirming,
  open: OpenRun,
  actions: readonly ProposedAction[],
  what: string,
): Promise<void> {
  if (actions.some((action) => readiness(open, action) !== 'ready')) {
    dialogue.say('Nothing was approved: not all of it could be shown.');
    return;
  }
  const word = criticalOf(actions).length > 0 ? approvalWord : 'y';
  const answer = await dialogue.decide(`Type ${word} to approve ${what}:`);
  if (answer?.toLowerCase() !== word) {
    dialogue.say('Nothing was approved.');
    return;
  }
  const deciding = {
    run_id: open.run_id,
    decision: 'approve',
    actions: actions.map((action) => decisionOn(open, action)),
    reason: null,
  } as const;
  let refusal = await decideInOrder(daemon, { ...deciding, anyway: false });
  if (refusal !== null && codeOf(refusal.error) === 'validation_failed') {
    dialogue.say(visibleLine(messageOf(refusal.error)));
    const again = await dialogue.decide(`Type ${anywayWord} to approve ${what} all the same:`);
    if (again?.toLowerCase() !== anywayWord) {
      dialogue.say('Nothing was approved.');
      return;
    }
    refusal = await decideInOrder(daemon, { ...deciding, actions: refusal.left, anyway: true });
  }
  if (refusal === null) {
    dialogue.say(`Approved ${what}.`);
    return;
  }
  const { error, left } = refusal;
  dialogue.say(visibleLine(whatWentWrong(inPart(refusal, { ...deciding, anyway: false }))));
  if (codeOf(error) !== 'signature_required') return;
  dialogue.say('In another terminal this signs and approves what you read here:');
  dialogue.say(command(`approve --run-id ${open.run_id} ${signedWords(left)} --sign`));
}

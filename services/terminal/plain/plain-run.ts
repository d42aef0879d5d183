import { setTimeout } from 'node:timers/promises';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { approverText, type ProposedAction } from '#kit/contracts/action.ts';
import { patchAuthorText } from '#kit/contracts/patch-author.ts';
import { isChanged, safeText } from '#kit/diff/line-text.ts';
import { type Patch, parsePatch } from '#kit/diff/patch.ts';
import { subjectOf } from '#kit/repository-name.ts';
import { executeHere } from '../client/execute-here.ts';
import { whatWentWrong } from '../client/what-went-wrong.ts';
import { executable } from '../input/work.ts';
import { issueFacts, issueLines, planFacts, planLines, requestFacts } from '../layout/about-run.ts';
import { statusWord } from '../layout/marks.ts';
import { payloadOf } from '../layout/payload.ts';
import type { TextLine } from '../layout/text-lines.ts';
import { rowText } from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';
import { decisionOn, gateActions, notYetShown, readiness } from '../state/decisions.ts';
import { named } from '../state/naming.ts';
import { appliedPatch, isOpen, needsApproval, type OpenRun, openRun } from '../state/state.ts';
import { type Confirming, confirmApproval } from './confirm-approval.ts';
import { spokenLine } from './spoken-line.ts';

export interface PlainRunOptions extends Confirming {
  readonly glyphs: Glyphs;
  readonly home: string | undefined;
  readonly here: string | null;
}

const commands =
  'Commands: a number reads that action, i the issue, p the plan, a NUMBER approves, r NUMBER rejects, g build or g publish approves a gate, x executes, u undoes, enter reads the state again, l goes back to the list, q quits.';
const lookEveryMs = 500;

/** One run, line by line. What was printed in full counts as shown. */
export class PlainRun {
  readonly #options: PlainRunOptions;
  #open: OpenRun = openRun('');

  constructor(options: PlainRunOptions) {
    this.#options = options;
  }

  /** Until the person leaves it. */
  async show(runId: string): Promise<'list' | 'quit'> {
    const { dialogue } = this.#options;
    this.#open = openRun(runId);
    await this.#read();
    this.#summary();
    dialogue.say(commands);
    for (;;) {
      const answer = await dialogue.ask('What next?');
      if (answer === null || answer === 'q') return 'quit';
      if (answer === 'l') return 'list';
      try {
        await this.#read();
        await this.#obey(answer);
      } catch (error) {
        dialogue.say(visibleLine(whatWentWrong(error)));
      }
    }
  }

  async #read(): Promise<void> {
    const { daemon } = this.#options;
    const detail = await daemon.run(this.#open.run_id);
    this.#open = { ...this.#open, run_id: detail.run_id, detail };
    const digest = appliedPatch(detail);
    if (this.#open.patchDigest === digest) return;
    const patch = digest === null ? null : parsePatch(await daemon.patch(detail.run_id, digest));
    this.#open = { ...this.#open, patch, patchDigest: digest };
  }

  #summary(): void {
    const { dialogue } = this.#options;
    const { detail } = this.#open;
    const { owner = '', repo = '', number = null } = requestFacts(this.#open);
    const subject = subjectOf({ owner, repo, number });
    const author = patchAuthorText(detail!.plan);
    dialogue.say(
      '',
      visibleLine(`${subject}, ${statusWord(detail!.status)}: ${issueFacts(this.#open).title ?? ''}`),
      ...(author === null ? [] : [visibleLine(author)]),
      ...detail!.actions.map(
        (action) =>
          `${named(action)}, gate ${action.gate}, risk ${action.risk} ${action.risk_score}, ${action.approval_lapsed === true ? 'approval lapsed' : action.approval_problem != null ? 'approval unknown' : action.approval === 'required' ? 'waits' : action.approval}, ${action.state}: ${visibleLine(action.title)}`,
      ),
    );
  }

  async #obey(answer: string): Promise<void> {
    const [word = '', argument = ''] = answer.split(/\s+/);
    if (/^\d+$/.test(word)) return this.#print(this.#action(word));
    switch (word) {
      case '':
        return this.#summary();
      case 'i':
        return this.#printIssue();
      case 'p':
        return this.#say(planLines(this.#open, this.#options));
      case 'a':
        return this.#approve(this.#action(argument));
      case 'r':
        return this.#reject(this.#action(argument));
      case 'g':
        return this.#approveGate(argument);
      case 'x':
        return this.#execute();
      case 'u':
        return this.#undo();
      default:
        this.#options.dialogue.say(`'${visibleLine(word)}' is no command. ${commands}`);
    }
  }

  #action(text: string): ProposedAction {
    const actions = this.#open.detail!.actions;
    const action = actions.find(({ ordinal }) => String(ordinal) === text);
    if (action !== undefined) return action;
    throw new RangeError(`'${text}' is none of the actions 1 to ${actions.length}`);
  }

  async #printIssue(): Promise<void> {
    const digest = this.#open.detail?.issue?.content;
    if (this.#open.issue === null && typeof digest === 'string') {
      const issue = await this.#options.daemon.issue(this.#open.run_id, digest);
      this.#open = { ...this.#open, issue };
    }
    this.#say(issueLines(this.#open, this.#options));
  }

  #print(action: ProposedAction): void {
    const { dialogue } = this.#options;
    const { covered, patch, after } = payloadOf(this.#open, action, this.#options);
    this.#say(covered);
    if (patch && this.#open.patch !== null) this.#sayPatch(this.#open.patch);
    this.#say(after);
    const { action_id, digest } = action;
    const whole = !patch || this.#open.patch !== null;
    if (!whole) dialogue.say('Its patch cannot be shown; it cannot be approved here.');
    const seen = { digest, upTo: 0, layout: '', whole };
    this.#open = { ...this.#open, seen: { ...this.#open.seen, [action_id]: seen } };
  }

  async #approve(action: ProposedAction): Promise<void> {
    const { dialogue } = this.#options;
    if (action.approval === 'approved' && !needsApproval(action)) {
      dialogue.say(
        visibleLine(
          `${named(action)} is approved already, by ${action.decision === null ? 'somebody' : approverText(action.decision)}.`,
        ),
      );
      return;
    }
    if (readiness(this.#open, action) !== 'ready') this.#print(action);
    await confirmApproval(this.#options, this.#open, [action], named(action));
  }

  async #approveGate(gate: string): Promise<void> {
    const { dialogue } = this.#options;
    if (gate !== 'build' && gate !== 'publish') {
      dialogue.say(`'${visibleLine(gate)}' is no gate; there are build and publish.`);
      return;
    }
    const actions = gateActions(this.#open, gate);
    if (actions.length === 0) {
      dialogue.say('Nothing of this gate waits for an approval.');
      return;
    }
    for (const action of notYetShown(this.#open, gate)) this.#print(action);
    const validation = this.#open.detail!.actions.find(({ kind }) => kind === 'run_validation');
    if (gate === 'publish')
      dialogue.say(`Validation: ${visibleLine(validation?.outcome?.message ?? validation?.state ?? 'none')}`);
    await confirmApproval(
      this.#options,
      this.#open,
      actions,
      `the gate ${gate}: ${actions.map(named).join(', ')}`,
    );
  }

  async #reject(action: ProposedAction): Promise<void> {
    const { dialogue, daemon } = this.#options;
    const reason = await dialogue.decide(`Why is ${named(action)} rejected?`);
    if (reason === null || reason === '') {
      dialogue.say('Nothing was rejected: a rejection needs a reason.');
      return;
    }
    await daemon.decide(this.#open.run_id, 'reject', decisionOn(this.#open, action), { reason });
    dialogue.say(`Rejected ${named(action)}.`);
  }

  async #execute(): Promise<void> {
    const { dialogue, daemon, home, here } = this.#options;
    const actions = executable(this.#open);
    if (actions.length === 0) {
      dialogue.say('Nothing that is approved waits to be executed.');
      return;
    }
    const { run_id } = this.#open;
    const ids = actions.map(({ action_id }) => action_id);
    dialogue.say(`This executes ${actions.map(named).join(', ')}.`);
    if (planFacts(this.#open).target?.branch == null) {
      if ((await dialogue.decide('Type y to execute:')) === 'y') await daemon.execute(run_id, null, ids);
    } else {
      const signal = new AbortController().signal;
      const names = await daemon.checkouts(signal);
      const choices = [...names, 'the whole path of a folder', 'or - for none: the forge alone'].join(', ');
      const answer = await dialogue.decide(
        `Which checkout gets the branch (${choices})?${here === null ? '' : ` Enter takes ${here}.`}`,
      );
      const place = answer === '' ? here : answer;
      if (place === null) return;
      if (place === '-') await daemon.execute(run_id, null, ids);
      else if (names.includes(place)) await daemon.execute(run_id, place, ids);
      else if (!place.startsWith('/')) throw new RangeError(`'${visibleLine(place)}' is none of ${choices}.`);
      else
        await executeHere({
          runId: run_id,
          folder: place,
          actions: ids,
          home,
          signal,
          output: (line) => dialogue.say(safeText(line)),
        });
    }
    await this.#wait();
  }

  async #undo(): Promise<void> {
    const { dialogue, daemon } = this.#options;
    const { steps } = await daemon.undoPlan(this.#open.run_id);
    const back = steps.filter(({ effect }) => effect !== 'nothing');
    for (const { effect, kind, message } of back)
      dialogue.say(`${effect === 'undo' ? 'Takes back' : 'Keeps'} ${kind}: ${visibleLine(message)}`);
    if (!back.some(({ effect }) => effect === 'undo')) {
      dialogue.say('There is nothing to take back.');
      return;
    }
    if ((await dialogue.decide('Type y to take it back:')) !== 'y') return;
    await daemon.undo(this.#open.run_id);
    await this.#wait();
  }

  /** Says what ends, until the work is over. */
  async #wait(): Promise<void> {
    const { dialogue } = this.#options;
    const reported = new Map(this.#open.detail!.actions.map(({ action_id, state }) => [action_id, state]));
    for (;;) {
      await this.#read();
      const { actions, status, undo } = this.#open.detail!;
      for (const action of actions) {
        if (reported.get(action.action_id) === action.state || isOpen(action)) continue;
        reported.set(action.action_id, action.state);
        const what = action.outcome === null ? '' : `: ${visibleLine(action.outcome.message)}`;
        dialogue.say(`${named(action)} ${action.state}${what}`);
      }
      const undoing = undo?.finished === false;
      if (status !== 'executing' && !undoing) break;
      await setTimeout(lookEveryMs);
    }
    dialogue.say(`The run is ${statusWord(this.#open.detail!.status)}.`);
  }

  #sayPatch(patch: Patch): void {
    for (const [index, line] of patch.lines.entries())
      this.#options.dialogue.say(...spokenLine(line, isChanged(patch, index)));
  }

  #say(lines: readonly TextLine[]): void {
    for (const { row } of lines) this.#options.dialogue.say(rowText(row));
  }
}

import { openInBrowser } from '#kit/cli/open-in-browser.ts';
import { codeOf, messageOf, Unauthorized, Unavailable } from '#kit/errors.ts';
import type { Effect, Message } from '../state/messages.ts';
import type { Decision, Notice, SignedDecision } from '../state/state.ts';
import type { Connection } from './connection.ts';
import { decideInOrder, inPart } from './deciding.ts';
import { executeHere } from './execute-here.ts';
import { RunFollower } from './run-follower.ts';
import { whatWentWrong } from './what-went-wrong.ts';

type Asked = Exclude<
  Effect,
  { kind: 'quit' | 'repaint' | 'ask-inbox' | 'open' | 'close' | 'browse' | 'copy' | 'edit' }
>;

export interface EffectRunnerOptions {
  readonly connection: Connection;
  readonly dispatch: (message: Message) => void;
  readonly home: string | undefined;
  readonly quit: () => void;
  readonly repaint: () => void;
  readonly copy: (text: string) => void;
  readonly edit: (text: string, line: number) => Promise<void>;
  /** Signs approvals with the person's SSH key. */
  readonly sign: (runId: string, actions: readonly Decision[]) => Promise<readonly SignedDecision[]>;
}

export class EffectRunner {
  readonly #options: EffectRunnerOptions;
  #follower: RunFollower | null = null;

  constructor(options: EffectRunnerOptions) {
    this.#options = options;
  }

  perform(effect: Effect): void {
    switch (effect.kind) {
      case 'quit':
        this.#options.quit();
        break;
      case 'repaint':
        this.#options.repaint();
        break;
      case 'ask-inbox':
        void this.#askInbox(effect.again);
        break;
      case 'open':
        this.#open(effect.run_id);
        break;
      case 'close':
        this.close();
        break;
      case 'browse':
        void this.#browse(effect.url);
        break;
      case 'copy':
        this.#options.copy(effect.text);
        this.#notify(`Copied ${effect.what}, where the terminal allows it`);
        break;
      case 'edit':
        void this.#options
          .edit(effect.text, effect.line)
          .catch((error) => this.#notify(`The editor did not start or failed: ${messageOf(error)}`));
        break;
      default:
        void this.#answer(effect);
    }
  }

  close(): void {
    this.#follower?.close();
    this.#follower = null;
  }

  #notify(text: string): void {
    this.#options.dispatch({ kind: 'notice', notice: { tone: 'plain', text } });
  }

  async #askInbox(again: boolean): Promise<void> {
    const { connection, dispatch } = this.#options;
    try {
      const { items } = await connection.daemon.inbox(connection.signal);
      dispatch({ kind: 'inbox', run_ids: items.map(({ run_id }) => run_id), again });
    } catch (error) {
      if (!connection.signal.aborted) this.#notify(whatWentWrong(error));
    }
  }

  async #browse(url: string): Promise<void> {
    try {
      await openInBrowser(url, () => this.#notify(`Opening ${url}`));
    } catch {
      this.#notify(`No browser could be started here; the address is ${url}`);
    }
  }

  #open(runId: string): void {
    this.close();
    const { connection, dispatch } = this.#options;
    this.#follower = new RunFollower(runId, connection, dispatch);
    void this.#follower.follow();
  }

  async #answer(effect: Asked): Promise<void> {
    const { dispatch } = this.#options;
    const refresh = () => this.#follower?.refresh().catch(() => {});
    try {
      const notice = await this.#ask(effect);
      // What is said to be done is in the lists that the next key opens.
      if (changesRun(effect)) await refresh();
      dispatch({ kind: 'answered', notice });
    } catch (error) {
      const about = isAboutLink(error) ? ({ about: 'link' } as const) : {};
      dispatch({ kind: 'answered', notice: { tone: 'bad', text: whatWentWrong(error), ...about } });
      // An answer that did not come says nothing about what was done; the run does.
      await refresh();
    }
  }

  async #ask(effect: Asked): Promise<Notice | null> {
    const { connection, dispatch, home, sign } = this.#options;
    const { daemon } = connection;
    switch (effect.kind) {
      case 'decide':
        return this.#decide(effect, effect.actions);
      case 'sign':
        return this.#decide(effect, await sign(effect.run_id, effect.actions));
      case 'execute':
        await daemon.execute(effect.run_id, effect.checkout, effect.actions);
        return null;
      case 'execute-here': {
        const { run_id, folder, actions } = effect;
        const output = (message: string) =>
          dispatch({ kind: 'progress', run_id, progress: progressOutput(message) });
        dispatch({ kind: 'executing-here', running: true });
        try {
          await executeHere({ runId: run_id, folder, actions, home, signal: connection.signal, output });
        } finally {
          dispatch({ kind: 'executing-here', running: false });
        }
        return null;
      }
      case 'resume':
        await daemon.resume(effect.run_id);
        return { tone: 'plain', text: 'Resuming' };
      case 'cancel':
        await daemon.cancel(effect.run_id);
        return { tone: 'plain', text: 'Cancelled' };
      case 'ask-undo': {
        const { run_id, steps } = await daemon.undoPlan(effect.run_id);
        dispatch({ kind: 'undo-plan', run_id, steps });
        return null;
      }
      case 'undo': {
        const { run_id, steps } = await daemon.undoPlan(effect.run_id);
        if (JSON.stringify(steps) !== JSON.stringify(effect.shown)) {
          dispatch({ kind: 'undo-plan', run_id, steps });
          return { tone: 'bad', text: 'What would be taken back has changed; this is how it is now' };
        }
        await daemon.undo(effect.run_id);
        return { tone: 'plain', text: 'Taking back' };
      }
      case 'plan': {
        const { kind: _, ...issue } = effect;
        const { run_id } = await daemon.plan(issue);
        dispatch({ kind: 'planned', run_id });
        return null;
      }
    }
  }

  /** Where the daemon asks for more, the person is asked for it. */
  async #decide(
    effect: Effect & { kind: 'decide' | 'sign' },
    actions: readonly SignedDecision[],
  ): Promise<Notice | null> {
    const { connection, dispatch } = this.#options;
    const { run_id, anyway, said } = effect;
    const { decision, reason } =
      effect.kind === 'decide' ? effect : ({ decision: 'approve', reason: null } as const);
    const deciding = { run_id, decision, actions, reason, anyway };
    const refusal = await decideInOrder(connection.daemon, deciding);
    if (refusal === null)
      return { tone: 'good', text: said, ...(decision === 'approve' ? { approved: actions } : {}) };
    const { error, left } = refusal;
    const text = messageOf(error);
    const decisions = left.map(({ action_id, digest, seen_approval }) => ({
      action_id,
      digest,
      seen_approval,
    }));
    if (codeOf(error) === 'validation_failed' && !anyway) {
      dispatch({ kind: 'needs-anyway', run_id, decisions, text });
      return { tone: 'bad', text };
    }
    if (codeOf(error) === 'signature_required' && effect.kind === 'decide') {
      dispatch({ kind: 'needs-signature', run_id, decisions, anyway, said, text });
      return null;
    }
    throw inPart(refusal, deciding);
  }
}

function changesRun({ kind }: Asked): boolean {
  return kind !== 'ask-undo' && kind !== 'plan';
}

function progressOutput(message: string) {
  return {
    step: 'run_validation',
    state: 'output' as const,
    message,
    action_id: undefined,
    duration_ms: undefined,
  };
}

function isAboutLink(error: unknown): boolean {
  return error instanceof Unavailable || error instanceof Unauthorized;
}

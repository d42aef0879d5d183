import { openInBrowser } from '#kit/cli/open-in-browser.ts';
import { CoreError, codeOf, Failed, messageOf, Unauthorized, Unavailable } from '#kit/errors.ts';
import type { Effect, Message } from '../state/messages.ts';
import type { Notice } from '../state/state.ts';
import type { Connection } from './connection.ts';
import type { Daemon } from './daemon.ts';
import { executeHere } from './execute-here.ts';
import { RunFollower } from './run-follower.ts';

type Asked = Exclude<Effect, { kind: 'quit' | 'repaint' | 'open' | 'close' | 'browse' | 'copy' | 'edit' }>;

export interface EffectRunnerOptions {
  readonly connection: Connection;
  readonly dispatch: (message: Message) => void;
  readonly home: string | undefined;
  readonly quit: () => void;
  readonly repaint: () => void;
  readonly copy: (text: string) => void;
  readonly edit: (text: string, line: number) => Promise<void>;
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
    const { connection, dispatch, home } = this.#options;
    const { daemon } = connection;
    switch (effect.kind) {
      case 'decide': {
        try {
          await decideAll(daemon, effect);
        } catch (error) {
          if (effect.anyway || codeOf(error) !== 'validation_failed') throw error;
          const { run_id, actions } = effect;
          dispatch({ kind: 'needs-anyway', run_id, decisions: actions, text: messageOf(error) });
          return { tone: 'bad', text: messageOf(error) };
        }
        return { tone: 'good', text: effect.said };
      }
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
}

function changesRun({ kind }: Asked): boolean {
  return kind !== 'ask-undo' && kind !== 'plan';
}

/** @throws what refused one of them, saying how many were decided before it */
export async function decideAll(
  daemon: Daemon,
  { run_id, decision, actions, reason, anyway }: Omit<Effect & { kind: 'decide' }, 'kind' | 'said'>,
): Promise<void> {
  let done = 0;
  let already: unknown;
  try {
    for (const action of actions) {
      try {
        await daemon.decide(run_id, decision, action, { reason, anyway });
        done++;
      } catch (error) {
        // Of a gate, what this person has approved before waits for others.
        if (codeOf(error) !== 'approved_already') throw error;
        already = error;
      }
    }
    if (done === 0 && already !== undefined) throw already;
  } catch (error) {
    if (done === 0) throw error;
    const word = decision === 'approve' ? 'Approved' : 'Rejected';
    throw new Failed(
      'decided_in_part',
      `${word} ${done} of ${actions.length}; then: ${whatWentWrong(error)}`,
      {
        cause: error,
      },
    );
  }
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

/** One line: what, and what to do. */
export function whatWentWrong(error: unknown): string {
  if (codeOf(error) === 'digest_mismatch') {
    return 'The action changed while it was on the screen and was not approved. Read it again';
  }
  if (codeOf(error) === 'decision_changed') return `Somebody was first: ${messageOf(error)}`;
  if (error instanceof Unavailable && codeOf(error) === 'http_unavailable') {
    return 'core-agentd did not answer; when it does again, the page shows whether it was done';
  }
  const hint = error instanceof CoreError && error.hint !== undefined ? `. ${error.hint}` : '';
  return `${messageOf(error)}${hint}`;
}

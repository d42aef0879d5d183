import { fileURLToPath } from 'node:url';
import * as t from 'io-ts';
import { decodeJson, optional } from '#kit/decode.ts';
import { childEnvironment } from '#kit/environment.ts';
import { Failed } from '#kit/errors.ts';

const core = fileURLToPath(new URL('../../../core', import.meta.url));
const Said = t.strict({ error: t.strict({ message: t.string, hint: optional(t.string) }) });

/**
 * Executes what is approved as the command line does, delivering to a folder of this machine: the daemon itself knows only
 * the working copies of its configuration.
 * @throws Failed (`execution_failed`) with what the command said
 */
export async function executeHere(options: {
  readonly runId: string;
  readonly folder: string;
  /** action_ids: nothing else is executed. */
  readonly actions: readonly string[];
  readonly home: string | undefined;
  readonly signal: AbortSignal;
  /** Each line that a validation writes. */
  readonly output: (line: string) => void;
}): Promise<void> {
  const { runId, folder, actions, home, signal, output } = options;
  const fixed = ['execute-approved', '--run-id', runId, '--repo-dir', folder, '--json', '--verbose'];
  const args = [...fixed, '--action', ...actions];
  const { execa } = await import('execa');
  const child = execa(core, home === undefined ? args : [...args, '--home', home], {
    stdio: ['ignore', 'ignore', 'pipe'],
    extendEnv: false,
    env: childEnvironment({}),
    cancelSignal: signal,
    killSignal: 'SIGINT',
    forceKillAfterDelay: false,
    buffer: false,
    reject: false,
  });
  let error = '';
  for await (const line of child.iterable({ from: 'stderr' })) {
    if (line.startsWith('{"error"')) error = line;
    else if (line.startsWith('      ')) output(line.slice(6));
  }
  const ended = await child;
  if (ended.isCanceled || ended.cause !== undefined) throw ended;
  if (ended.exitCode === 0 || error === '') return;
  const { message, hint } = decodeJson(Said, error, 'what the command said').error;
  throw new Failed('execution_failed', message, hint === undefined ? {} : { hint });
}

import { childEnvironment } from '#kit/environment.ts';
import { core, saidFailure } from './core-command.ts';

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
  const failure = ended.exitCode === 0 ? null : saidFailure('execution_failed', [error]);
  if (failure !== null) throw failure;
}

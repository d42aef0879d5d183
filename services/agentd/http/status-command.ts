import { fileURLToPath } from 'node:url';
import { StatusReport } from '#kit/contracts/status.ts';
import { decodeJson } from '#kit/decode.ts';
import { childEnvironment } from '#kit/environment.ts';
import { TimedOut, Unavailable } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { nodeFlags } from '#kit/node-flags.ts';

/** Gives the report; questions at the same time share one run of the command. */
export type StatusCommand = () => Promise<StatusReport>;

export interface StatusProgram {
  readonly script: string;
  /** Milliseconds until it is ended. */
  readonly timeoutMs: number;
}

const program: StatusProgram = {
  script: fileURLToPath(new URL('../../status/main.ts', import.meta.url)),
  // Its questions have limits of their own.
  timeoutMs: 660_000,
};

/** core-status in a process of its own, with the folders of this one. */
export function createStatusCommand(
  folders: Pick<Folders, 'state' | 'config'>,
  { script, timeoutMs }: StatusProgram = program,
): StatusCommand {
  let running: Promise<StatusReport> | null = null;

  async function run(): Promise<StatusReport> {
    // A hundred modules, for one route that is seldom asked.
    const { execa } = await import('execa');
    const ended = await execa(process.execPath, [...nodeFlags, script], {
      reject: false,
      stdin: 'ignore',
      timeout: timeoutMs,
      forceKillAfterDelay: 500,
      maxBuffer: 8 * 1024 * 1024,
      extendEnv: false,
      env: childEnvironment({ CORE_STATE_DIR: folders.state, CORE_CONFIG_DIR: folders.config }),
    });
    if (ended.timedOut) {
      throw new TimedOut('status_timeout', `core-status did not end within ${timeoutMs} ms`, {
        retryAfter: 5,
      });
    }
    if (ended.stdout.trim() === '') {
      const why = ended.stderr.trim().split('\n').at(-1) || ended.shortMessage || 'it wrote nothing';
      throw new Unavailable('status_failed', `core-status gave no report: ${why}`, { retryAfter: 5 });
    }
    return decodeJson(StatusReport, ended.stdout, 'report of core-status');
  }

  return () => {
    running ??= run().finally(() => {
      running = null;
    });
    return running;
  };
}

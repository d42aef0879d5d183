import { fileURLToPath } from 'node:url';
import * as t from 'io-ts';
import { RunList } from '#kit/contracts/run.ts';
import { decodeJson } from '#kit/decode.ts';
import { childEnvironment } from '#kit/environment.ts';
import { messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { nodeFlags } from '#kit/node-flags.ts';
import { type Findings, latestRuns } from './check.ts';

const script = fileURLToPath(new URL('../agentd/main.ts', import.meta.url));
const Listed = t.strict({ ...RunList.type.props, runs_count: t.number });

/**
 * The runs of this state folder as the command line of core-agentd lists them, for when its daemon is away. Never throws: they
 * stay unknown then, with the reason.
 */
export async function runsOnDisk(
  { state, config }: Pick<Folders, 'state' | 'config'>,
  timeoutMs: number,
): Promise<Findings['runs']> {
  try {
    const { execa } = await import('execa');
    const args = ['runs', '--limit', String(latestRuns), '--json'];
    const { stdout } = await execa(process.execPath, [...nodeFlags, script, ...args], {
      stdin: 'ignore',
      timeout: timeoutMs,
      extendEnv: false,
      env: childEnvironment({ CORE_STATE_DIR: state, CORE_CONFIG_DIR: config }),
    });
    const { runs, runs_count } = decodeJson(Listed, stdout, 'list of core-agentd runs');
    const detail = 'read from the disk: core-agentd does not answer';
    return { count: runs_count, latest: runs, detail, fix: null };
  } catch (error) {
    const [why = ''] = messageOf(error).split('\n');
    return { count: null, latest: [], detail: `not to be read from the disk: ${why}`, fix: null };
  }
}

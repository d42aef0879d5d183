import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import * as t from 'io-ts';
import { answerMs } from '#kit/config/answer-ms.ts';
import { decode, nullable, oneOf, parseJson } from '#kit/decode.ts';
import { childEnvironment, environment } from '#kit/environment.ts';
import { Failed } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { nodeFlags } from '#kit/node-flags.ts';
import type { Finding } from './finding.ts';
import { broken } from './installation.ts';

const states = {
  works: 'works',
  limited: 'warning',
  unused: 'missing',
  silent: 'warning',
  unreachable: 'warning',
  refused: 'broken',
} as const satisfies Record<string, Finding['state']>;

const Reports = t.type({
  forges: t.array(
    t.type({
      forge: t.string,
      state: oneOf(Object.keys(states) as [keyof typeof states, ...(keyof typeof states)[]]),
      detail: t.string,
      fix: nullable(t.string),
    }),
  ),
});

const main = fileURLToPath(new URL('../../agentd/main.ts', import.meta.url));
/** Milliseconds that the program itself may take beside its questions, on a busy machine. */
const startMs = 20_000;

/** Each configured forge, asked by core-agentd, whose tokens and adapters they are. */
export async function checkForges(folders: Folders): Promise<Finding[]> {
  const timeout = startMs + 2 * answerMs({ folders, environment });
  const { stdout, stderr, timedOut } = await execa(
    process.execPath,
    [...nodeFlags, main, '--json', 'forges'],
    {
      extendEnv: false,
      env: childEnvironment({ CORE_STATE_DIR: folders.state, CORE_CONFIG_DIR: folders.config }),
      reject: false,
      stdin: 'ignore',
      timeout,
    },
  );
  try {
    if (timedOut) throw new Failed('forge_timeout', `the forges were not asked within ${timeout / 1000} s`);
    if (stdout === '') return [broken('forges', new Failed('forges_invalid', saidBy(stderr)))];
    return decode(Reports, parseJson(stdout, 'its answer'), 'its answer').forges.map(
      ({ forge, state, detail, fix }): Finding => ({
        name: `forge ${forge}`,
        state: states[state],
        detail,
        fix,
      }),
    );
  } catch (error) {
    return [broken('forges', error)];
  }
}

function saidBy(stderr: string): string {
  const last = stderr.trimEnd().split('\n').at(-1) ?? '';
  try {
    return (JSON.parse(last) as { error: { message: string } }).error.message;
  } catch {
    return last.slice(0, 300);
  }
}

import { posix } from 'node:path';
import { wordsOf } from './shell-line.ts';

/** Runners whose output says which tests failed. */
export type TestRunner = 'node' | 'pytest' | 'cargo' | 'go' | 'jest' | 'vitest';

export const runnerNames = 'node --test, pytest, cargo test, go test, jest or vitest';

/** The runner that a line calls; null if the line calls another program, or more than one. */
export function runnerOf(line: string): TestRunner | null {
  const words = wordsOf(line);
  if (words === null) return null;
  const [program = '', ...rest] = words;
  const name = posix.basename(program);
  if (/^python[\d.]*$/.test(name)) return rest[0] === '-m' && rest[1] === 'pytest' ? 'pytest' : null;
  if (['uv', 'poetry'].includes(name)) return rest[0] === 'run' && rest[1] === 'pytest' ? 'pytest' : null;
  if (['pytest', 'py.test'].includes(name)) return 'pytest';
  if (name === 'cargo' || name === 'go') return rest[0] === 'test' ? name : null;
  if (name === 'jest' || name === 'vitest') return name;
  if (name !== 'node' && name !== 'tsx') return null;
  if (rest.includes('--test')) return 'node';
  const script = rest.find((word) => !word.startsWith('-')) ?? '';
  return (/(^|\/)node_modules\/(jest\/bin\/jest|\.bin\/jest|vitest\/vitest)(\.m?js)?$/
    .exec(script)?.[2]
    ?.match(/jest|vitest/)?.[0] ?? null) as TestRunner | null;
}

/**
 * The one runner of a command. A script of package.json is known by the line that its package manager prints before it runs one.
 * @returns why the command is not known to run one and nothing else
 */
export function onlyRunnerOf(command: string, log: string): TestRunner | { readonly why: string } {
  const manager = wordsOf(command)?.[0];
  const banner = manager === undefined ? undefined : banners[manager];
  if (banner === undefined) {
    return runnerOf(command) ?? { why: `it is not a single call of ${runnerNames}` };
  }
  const scripts = [...log.matchAll(banner)].map((match) => match[1]!.trim());
  const [script] = scripts;
  if (script === undefined) return { why: 'its output does not name the script that it runs' };
  if (scripts.length > 1) return { why: `it runs several scripts (${scripts.slice(0, 3).join('; ')})` };
  return runnerOf(script) ?? { why: `its script '${script}' is not a single call of ${runnerNames}` };
}

const arrows = /^> .+\n> (.+)$/gm;
const dollars = /^\$ (.+)$/gm;
const banners: Readonly<Record<string, RegExp>> = {
  npm: arrows,
  pnpm: /^(?:> .+\n> |\$ |\S+ \S+\$ )(.+)$/gm,
  yarn: dollars,
  bun: dollars,
};

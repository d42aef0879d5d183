import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environment } from '#kit/environment.ts';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const script = fileURLToPath(new URL('./child.ts', import.meta.url));

export interface CommandLine {
  readonly file: string;
  readonly args: readonly string[];
}

/** Nothing of the parent's environment, and enough threads that a slow query leaves some free. */
export const childEnvironment = { PATH: '/usr/bin:/bin', UV_THREADPOOL_SIZE: '8' } as const;

export function plainCommand(folder: string): CommandLine {
  return { file: process.execPath, args: ['--max-old-space-size=256', script, folder] };
}

/**
 * The same in namespaces of its own: no network, and of the files only the program's and the projection's. null where bwrap(1) is not
 * installed. Tells the process's number on descriptor 4.
 */
export function isolatedCommand(folder: string): CommandLine | null {
  const bwrap = findProgram('bwrap');
  if (process.platform !== 'linux' || bwrap === null) return null;
  const node = realpathSync(process.execPath);
  // What is a link lies in both places: Node looks for packages where the link is.
  const program = ['package.json', 'services', 'node_modules'].map((name) => join(root, name));
  const seen = [node, ...program].flatMap((path) => ['--ro-bind', realpathSync(path), path]);
  const linked = program.map((path) => realpathSync(path)).filter((path) => !program.includes(path));
  seen.push(...linked.flatMap((path) => ['--ro-bind', path, path]));
  const system = ['/usr', '/lib', '/lib64', '/bin'].flatMap((path) => ['--ro-bind-try', path, path]);
  const { file: _node, args } = plainCommand(folder);
  return {
    file: bwrap,
    args: [
      ...[
        '--unshare-all',
        '--die-with-parent',
        '--as-pid-1',
        '--new-session',
        '--cap-drop',
        'ALL',
        '--info-fd',
        '4',
      ],
      ...[...system, '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', ...seen],
      ...['--bind', folder, folder, '--chdir', folder, '--', node, ...args],
    ],
  };
}

function findProgram(name: string): string | null {
  for (const folder of [...(environment.PATH ?? '').split(delimiter), '/usr/bin', '/bin']) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {}
  }
  return null;
}

import { Refused } from '#kit/errors.ts';
import { findProgram } from '#kit/find-program.ts';
import { runProgram } from '#kit/run-program.ts';
import type { Sandbox, SandboxResult, SandboxRun } from '../ports/sandbox.ts';
import { failedPromise, shellArguments } from './command-line.ts';
import { guardVariable } from './guard.ts';
import { type Guests, guestsOf } from './guests.ts';
import { runInNamespace } from './namespace.ts';
import { seccompFilter } from './seccomp.ts';
import { inputDescriptor } from './supervise.ts';
import {
  existingProcEntries,
  type Mount,
  type SandboxOptions,
  scratchFolders,
  systemView,
} from './system-view.ts';

const installHint =
  "install bubblewrap, for example 'apt install bubblewrap', 'dnf install bubblewrap' or 'apk add bubblewrap'";

/** Namespaces, a read-only view of the system and a system call filter, by bwrap(1). */
export function createBubblewrap(options: SandboxOptions): Sandbox {
  const sandbox: Sandbox = {
    kind: 'bubblewrap',
    async check() {
      if (process.platform !== 'linux') return { works: false, reason: 'bubblewrap needs Linux' };
      if (!findProgram('bwrap')) return { works: false, reason: `bwrap is not installed; ${installHint}` };
      if (!seccompFilter()) {
        return {
          works: false,
          reason: `there is no system call filter for ${process.arch}, only for x64 and arm64`,
        };
      }
      const broken = await failedPromise(sandbox);
      if (broken === null) return { works: true, reason: 'bubblewrap keeps its promises here' };
      return { works: false, reason: `bwrap does not work here: ${broken}${namespaceHint(broken)}` };
    },
    run: (run) => runInBubblewrap(run, options),
  };
  return sandbox;
}

async function runInBubblewrap(run: SandboxRun, options: SandboxOptions): Promise<SandboxResult> {
  const file = findProgram('bwrap');
  if (!file) throw new Refused('sandbox_unavailable', `bwrap is not installed; ${installHint}`);
  const filter = seccompFilter();
  if (!filter) throw new Refused('sandbox_unavailable', `there is no system call filter for ${process.arch}`);
  const known = await knownOptions(file);
  const { guests, variables, home, relay } = guestsOf(run);
  // In the order of their descriptors.
  const inputs = [filter, nulSeparated(variables), ...home.map(({ bytes }) => bytes)];
  return runInNamespace(run, options, 'bwrap', async (mounts) => ({
    file,
    args: [
      ...isolation(run, known),
      ...(await view(run, { mounts, guests, home }, options, known)),
      ...['--seccomp', String(inputDescriptor), '--args', String(inputDescriptor + 1)],
      '--',
      '/bin/sh',
      ...shellArguments(run, true, relay),
    ],
    inputs,
  }));
}

/** Variables come by a descriptor: arguments show in the host's list of processes. */
function nulSeparated(variables: Readonly<Record<string, string>>): Uint8Array {
  const words = Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]);
  return Buffer.from(words.map((word) => `${word}\0`).join(''));
}

function isolation(run: SandboxRun, known: string): string[] {
  return [
    '--unshare-user',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup-try',
    ...(run.network ? [] : ['--unshare-net']),
    ...(known.includes('--disable-userns') ? ['--disable-userns'] : []),
    ...['--uid', '1000', '--gid', '1000', '--hostname', 'sandbox'],
    ...['--new-session', '--die-with-parent', '--cap-drop', 'ALL', '--json-status-fd', '3'],
    ...['--unsetenv', guardVariable],
  ];
}

async function view(
  run: SandboxRun,
  { mounts, guests, home }: { readonly mounts: readonly Mount[] } & Pick<Guests, 'guests' | 'home'>,
  options: SandboxOptions,
  known: string,
): Promise<string[]> {
  const system = await systemView(options, run.network);
  const { readOnly, hiddenFolders, hiddenFiles } = existingProcEntries();
  const bytes = String(run.limits.memory_mib * 1024 * 1024);
  const memory = (path: string) => [...(known.includes('--size') ? ['--size', bytes] : []), '--tmpfs', path];
  return [
    // First, because tools may lie below it: this very installation, for one.
    ...memory('/tmp'),
    ...system.mounts.flatMap(({ source, target }) => ['--ro-bind', source, target]),
    ...system.hidden.flatMap(({ path, kind }) =>
      kind === 'folder' ? ['--tmpfs', path, '--remount-ro', path] : ['--ro-bind', '/dev/null', path],
    ),
    ...guests.flatMap(({ source, target }) => ['--ro-bind', source, target]),
    ...home.flatMap(({ path }, index) => {
      const descriptor = String(inputDescriptor + 2 + index);
      return ['--perms', '0600', '--file', descriptor, `/tmp/home/${path}`];
    }),
    ...system.links.flatMap(({ path, target }) => ['--symlink', target, path]),
    ...['--proc', '/proc'],
    ...readOnly.flatMap((path) => ['--ro-bind', path, path]),
    ...hiddenFolders.flatMap((path) => ['--tmpfs', path, '--remount-ro', path]),
    ...hiddenFiles.flatMap((path) => ['--ro-bind', '/dev/null', path]),
    ...['--dev', '/dev', ...memory('/dev/shm'), '--remount-ro', '/dev'],
    ...['--bind', run.workspace, '/workspace'],
    ...mounts.flatMap(({ source, target }) => ['--ro-bind', source, `/workspace/${target}`]),
    ...scratchFolders(mounts).flatMap((path) => memory(`/workspace/${path}`)),
    ...['--remount-ro', '/', '--chdir', '/workspace'],
  ];
}

/** The options of the installed bwrap, as its help lists them; older ones lack some. */
async function knownOptions(file: string): Promise<string> {
  helpTexts[file] ??= runProgram(file, ['--help']).then(({ stdout, stderr }) => `${stdout}${stderr}`);
  return helpTexts[file];
}

const helpTexts: Record<string, Promise<string>> = {};

function namespaceHint(reason: string): string {
  if (!/permitted|denied|No space|creating new namespace/i.test(reason)) return '';
  return '; user namespaces may be off: see sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns, or the options of the container';
}

import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { Refused } from '#kit/errors.ts';
import { findProgram } from '#kit/find-program.ts';
import { shellWord } from '#kit/shell-word.ts';
import type { Sandbox, SandboxResult, SandboxRun } from '../ports/sandbox.ts';
import { failedPromise, refuseTooWeak, shellArguments } from './command-line.ts';
import { guardVariable } from './guard.ts';
import { runInNamespace } from './namespace.ts';
import {
  devices,
  existingProcEntries,
  type Mount,
  type ReadOnlyBind,
  readOnlyBinds,
  type SandboxOptions,
  scratchFolders,
  systemView,
} from './system-view.ts';

const tools = ['unshare', 'setpriv', 'mount', 'umount', 'pivot_root', 'ip'] as const;

/**
 * Namespaces with the programs of util-linux, for machines without bubblewrap. There is no system call filter: keyrings of the
 * kernel, sockets to the host (AF_VSOCK), bpf and io_uring are within reach, so that a policy has to allow it by name.
 */
export function createUnshare(options: SandboxOptions): Sandbox {
  const sandbox: Sandbox = {
    kind: 'unshare (weak)',
    async check() {
      if (process.platform !== 'linux') return { works: false, reason: 'unshare needs Linux' };
      const missing = tools.filter((tool) => !findProgram(tool));
      if (missing.length > 0) {
        return {
          works: false,
          reason: `${missing.join(', ')} not installed (packages util-linux and iproute2)`,
        };
      }
      const broken = await failedPromise(sandbox);
      if (broken === null) return { works: true, reason: 'unshare keeps its promises here' };
      return { works: false, reason: `unshare does not work here: ${broken}` };
    },
    run: (run) => runUnshared(run, options),
  };
  return sandbox;
}

async function runUnshared(run: SandboxRun, options: SandboxOptions): Promise<SandboxResult> {
  refuseTooWeak('unshare (weak)', run);
  const file = findProgram('setpriv');
  if (!file) throw new Refused('sandbox_unavailable', 'setpriv is not installed (package util-linux)');
  const namespaces = ['--user', '--map-root-user', '--mount', '--pid', '--ipc', '--uts', '--cgroup'];
  return runInNamespace(run, options, 'unshare', async (mounts) => ({
    file,
    args: [
      // Ends with this process; unshare itself knows only how to take its child along.
      ...['--pdeathsig', 'KILL', '--', 'unshare', ...namespaces, '--fork', '--kill-child'],
      ...(run.network ? [] : ['--net']),
      ...['--', '/bin/sh', '-c', await setup(run, mounts, options), 'sh'],
      ...shellArguments(run, true),
    ],
  }));
}

/**
 * Builds the new root on a tmpfs and moves there. `/sys` is where it is built: a folder that every system has, and the one from
 * which nothing is shown. The command runs in a second user namespace, which has no power over these mounts.
 */
async function setup(run: SandboxRun, mounts: readonly Mount[], options: SandboxOptions): Promise<string> {
  const root = '/sys';
  const system = await systemView(options, run.network);
  const { readOnly, hiddenFolders, hiddenFiles } = existingProcEntries();
  const memory = `mode=1777,nosuid,nodev,size=${run.limits.memory_mib}m`;
  const mount = (...words: string[]) => `mount -n ${words.map(shellWord).join(' ')}`;
  const tmpfs = (path: string, data = memory) => mount('-t', 'tmpfs', '-o', data, 'tmpfs', path);
  const seal = (path: string) => mount('-o', 'remount,bind,ro,nosuid,nodev,noexec', 'none', path);
  const bind = ({ source, target, kind, options: flags }: ReadOnlyBind) =>
    kind === 'submount'
      ? mount('-o', `remount,bind,ro,nosuid,nodev${flags}`, 'none', target)
      : mount('-o', `rbind,ro,nosuid,nodev${flags}`, source, target);
  const words = (command: string, all: readonly string[]) =>
    [command, ...new Set(all.map(shellWord))].join(' ');
  const shown = readOnlyBinds(system.mounts, root);
  const at = (path: string) => shellWord(root + path);
  return [
    'set -eu',
    'umask 022',
    `unset ${guardVariable}`,
    'read -r pid rest </proc/self/stat',
    `printf '{"child-pid": %d}\\n' "$pid" >&3`,
    ...(run.network ? [] : ['ip link set lo up']),
    'hostname sandbox 2>/dev/null || true',
    tmpfs(root, 'mode=755,nosuid,nodev,size=16m'),
    `cd ${root}`,
    'mkdir proc dev tmp workspace .host',
    // Before the rest is shown, because tools may lie below it: this very installation, for one.
    tmpfs(`${root}/tmp`),
    words(
      'mkdir -p',
      shown.filter(({ kind }) => kind === 'folder').map(({ target }) => target),
    ),
    words(
      'mkdir -p',
      shown.filter(({ kind }) => kind === 'file').map(({ target }) => dirname(target)),
    ),
    words(
      'touch',
      shown.filter(({ kind }) => kind === 'file').map(({ target }) => target),
    ),
    ...shown.map(bind),
    ...system.hidden.map(({ path, kind }) =>
      kind === 'folder'
        ? tmpfs(root + path, 'mode=755,ro,size=4k')
        : mount('--bind', '/dev/null', root + path),
    ),
    ...system.links.map(({ path, target }) => `ln -s ${shellWord(target)} ${at(path)}`),
    mount('-t', 'proc', '-o', 'nosuid,nodev,noexec', 'proc', `${root}/proc`),
    ...readOnly.flatMap((path) => [mount('--bind', root + path, root + path), seal(root + path)]),
    ...hiddenFolders.map((path) => tmpfs(root + path, 'mode=755,ro,size=4k')),
    ...hiddenFiles.map((path) => mount('--bind', '/dev/null', root + path)),
    mount('--bind', realpathSync(run.workspace), `${root}/workspace`),
    mount('-o', 'remount,bind,nosuid,nodev', 'none', `${root}/workspace`),
    ...readOnlyBinds(
      mounts.map(({ source, target }) => ({ source, target: `/workspace/${target}` })),
      root,
    ).map(bind),
    ...scratchFolders(mounts).map((path) => tmpfs(`${root}/workspace/${path}`)),
    // A mount of its own, so that making it read-only leaves what lies on it alone.
    mount('-t', 'tmpfs', '-o', 'mode=755,nosuid,size=64k', 'tmpfs', `${root}/dev`),
    'mkdir dev/pts dev/shm',
    ...devices.flatMap((name) => [`: >dev/${name}`, mount('--bind', `/dev/${name}`, `${root}/dev/${name}`)]),
    'ln -s /proc/self/fd dev/fd; ln -s fd/0 dev/stdin; ln -s fd/1 dev/stdout; ln -s fd/2 dev/stderr; ln -s pts/ptmx dev/ptmx',
    mount(
      '-t',
      'devpts',
      '-o',
      'newinstance,ptmxmode=666,mode=620,nosuid,noexec',
      'devpts',
      `${root}/dev/pts`,
    ),
    tmpfs(`${root}/dev/shm`),
    mount('-o', 'remount,bind,ro,nosuid', 'none', `${root}/dev`),
    'echo 1 >/proc/sys/user/max_user_namespaces',
    'pivot_root . .host',
    'cd /',
    'umount -l /.host',
    'rmdir /.host',
    mount('-o', 'remount,bind,ro,nosuid,nodev', 'none', '/'),
    'cd /workspace',
    'code=0',
    'unshare --user --map-user=1000 --map-group=1000 -- setpriv --no-new-privs -- /bin/sh "$@" 3>&- || code=$?',
    `printf '{"exit-code": %d}\\n' "$code" >&3`,
  ].join('\n');
}

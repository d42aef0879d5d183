import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { codeOf, messageOf } from './errors.ts';
import { runProgram } from './run-program.ts';

/** What all processes of a control group together may use; see the kernel's cgroup-v2 documentation. */
export interface GroupLimits {
  /** Memory of any kind: memory files and the buffers of pipes and sockets count, and there is no swap. */
  readonly bytes: number;
  /** Processes and threads. */
  readonly tasks: number;
}

export interface ControlGroup {
  /** Words in front of a command line, by which it and all that it starts belong to the group. */
  readonly joinCommand: readonly string[];
  /** Whether the kernel ended one of its processes for want of memory. */
  ranOutOfMemory(): boolean;
  /** Its processes must have ended. */
  remove(): Promise<void>;
}

export type ControlGroups =
  | { readonly works: true; make(limits: GroupLimits): ControlGroup }
  | { readonly works: false; readonly reason: string };

export const howToDelegate =
  "Start Core where control groups are delegated to it: 'systemd-run --user --scope ./core up', or with Delegate=yes and DelegateSubgroup=core in a unit that has a User.";

const prefix = 'core-sandbox-';
const joinScript = 'echo 0 >"$1" || exit 125; shift; exec "$@"';

let tried: Promise<ControlGroups> | null = null;

/** Whether this process may limit others by control groups (version 2), tried for real, once. */
export function controlGroups(): Promise<ControlGroups> {
  tried ??= tryGroups();
  return tried;
}

async function tryGroups(): Promise<ControlGroups> {
  try {
    const parent = findParent();
    removeLeftovers(parent);
    const make = (limits: GroupLimits) => makeGroup(parent, limits);
    const group = make({ bytes: 64 * 1024 * 1024, tasks: 16 });
    try {
      const { exitCode, stderr } = await runProgram('/bin/sh', [...group.joinCommand.slice(1), 'true']);
      if (exitCode !== 0) throw new Error(stderr.trim());
    } finally {
      await group.remove();
    }
    return { works: true, make };
  } catch (error) {
    return { works: false, reason: messageOf(error) };
  }
}

/**
 * The nearest group above this process, or its own, that belongs to this user and can hand memory limits on. The kernel refuses that
 * to a group with processes of its own. To root every group belongs, so that nothing says which ones are Core's to use.
 * @throws Error naming what is missing
 */
function findParent(): string {
  if (process.getuid?.() === 0 && /^\s*0\s+0\s+4294967295$/m.test(textOf('/proc/self/uid_map'))) {
    throw new Error('Core runs as root, and no control group is delegated to it');
  }
  const { own, mount } = ownGroup();
  for (let folder = own; belongsToUser(folder); folder = dirname(folder)) {
    const control = join(folder, 'cgroup.subtree_control');
    const available = wordsOf(join(folder, 'cgroup.controllers'));
    for (const name of ['memory', 'pids', 'cpu']) {
      if (available.includes(name) && !wordsOf(control).includes(name)) writeIfAllowed(control, `+${name}`);
    }
    if (wordsOf(control).includes('memory')) return folder;
    if (folder === mount) break;
  }
  throw new Error('no control group with a memory controller is delegated to this user');
}

function ownGroup(): { own: string; mount: string } {
  const path = /^0::(\/.*)$/m.exec(textOf('/proc/self/cgroup'))?.[1];
  for (const line of textOf('/proc/self/mountinfo').trimEnd().split('\n')) {
    const [, , , root = '', mount = ''] = line.split(' ');
    if (path === undefined || !line.includes(' - cgroup2 ')) continue;
    if (root !== '/' && path !== root && !path.startsWith(`${root}/`)) continue;
    const own = join(mount, root === '/' ? path : path.slice(root.length));
    if (existsSync(join(own, 'cgroup.procs'))) return { own, mount };
  }
  throw new Error('this machine or container shows no control groups of version 2');
}

function belongsToUser(folder: string): boolean {
  try {
    for (const name of ['', 'cgroup.procs', 'cgroup.subtree_control']) {
      const path = join(folder, name);
      if (statSync(path).uid !== process.getuid?.()) return false;
      accessSync(path, constants.W_OK);
    }
    return true;
  } catch {
    return false;
  }
}

let made = 0;

/** @throws Error where the limits cannot be set: without them the group is of no use */
function makeGroup(parent: string, { bytes, tasks }: GroupLimits): ControlGroup {
  made += 1;
  const folder = join(parent, `${prefix}${process.pid}-${made}`);
  mkdirSync(folder);
  try {
    writeFileSync(join(folder, 'memory.max'), String(bytes));
    limitSwap(join(folder, 'memory.swap.max'));
    // All or nothing: half of a validation says nothing about the change.
    writeIfAllowed(join(folder, 'memory.oom.group'), '1');
    if (existsSync(join(folder, 'pids.max'))) writeFileSync(join(folder, 'pids.max'), String(tasks));
    // The services of Core come first where all want the processor.
    writeIfAllowed(join(folder, 'cpu.weight'), '50');
  } catch (error) {
    rmdirSync(folder);
    throw error;
  }
  return {
    joinCommand: ['/bin/sh', '-c', joinScript, 'sh', join(folder, 'cgroup.procs')],
    ranOutOfMemory: () =>
      Number(/^oom_kill (\d+)$/m.exec(textOf(join(folder, 'memory.events')))?.[1] ?? 0) > 0,
    remove: () => removeGroup(folder),
  };
}

function limitSwap(file: string): void {
  if (existsSync(file)) writeFileSync(file, '0');
  else if (textOf('/proc/swaps').trimEnd().includes('\n')) {
    throw new Error('the kernel does not limit how control groups use swap');
  }
}

/** The kernel lets go of a group shortly after its last process; what stays all the same goes with the next start. */
async function removeGroup(folder: string): Promise<void> {
  for (let round = 0; round < 100; round++) {
    try {
      rmdirSync(folder);
      return;
    } catch (error) {
      if (codeOf(error) !== 'EBUSY') return;
    }
    await delay(10);
  }
}

/** Groups of processes that were killed. One that is in use cannot be removed. */
function removeLeftovers(parent: string): void {
  for (const name of readdirSync(parent)) {
    const owner = name.startsWith(prefix) ? name.slice(prefix.length).split('-')[0] : undefined;
    if (owner === undefined || existsSync(`/proc/${owner}`)) continue;
    try {
      rmdirSync(join(parent, name));
    } catch {
      // Its last process has not ended yet.
    }
  }
}

function wordsOf(file: string): string[] {
  return textOf(file).trim().split(/\s+/);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function writeIfAllowed(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'r+' });
  } catch {
    // Whoever depends on it looks at what came of it.
  }
}

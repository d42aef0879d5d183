import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runningService } from '#kit/config/running-service.ts';
import { platformServices } from '#kit/contracts/platform-services.ts';
import { StackNote, type SupervisedNote, stackFolder, stackNoteName } from '#kit/contracts/stack-note.ts';
import { decodeJson } from '#kit/decode.ts';
import type { Folders } from '#kit/folders.ts';
import { readSmallFile } from '#kit/small-file.ts';
import { isRunning } from '#kit/storage/process-identity.ts';
import type { ServiceManager, Unit } from './service-manager.ts';

/** The supervisor of `./core up`, by the note that it keeps in the state folder, and services started one by one. */
export function embeddedStack(folders: Pick<Folders, 'state'>): ServiceManager {
  return {
    kind: 'embedded',
    get detail() {
      const note = readStackNote(folders);
      if (note === null) return `no ./core up runs with the state folder ${folders.state}`;
      return `./core up, process ${note.holder.pid}, since ${note.since}`;
    },
    async units() {
      const note = readStackNote(folders);
      return new Map(platformServices.map((name) => [name, unitOf(name, note, folders)]));
    },
    problem() {
      const pid = readStackNote(folders)?.holder.pid;
      if (pid === undefined || processState(pid) !== 'stopped') return null;
      return {
        detail: `./core up, process ${pid}, is stopped: it starts nothing again that ends`,
        fix: `kill -CONT ${pid}`,
      };
    },
    environment: async () => null,
  };
}

/** null where no supervisor runs. */
export function readStackNote({ state }: Pick<Folders, 'state'>): StackNote | null {
  const path = join(state, stackFolder, stackNoteName);
  try {
    const note = decodeJson(StackNote, readSmallFile(path), path);
    return isRunning(note.holder) === true ? note : null;
  } catch {
    return null;
  }
}

function unitOf(
  name: (typeof platformServices)[number],
  note: StackNote | null,
  folders: Pick<Folders, 'state'>,
): Unit {
  const supervised = note?.services[name];
  if (supervised !== undefined) return supervisedUnit(supervised);
  const alone = { pid: null, restarts: null, since: null };
  const running = runningService(name, folders);
  if (running !== null)
    return { ...alone, state: 'running', detail: `runs by itself, at ${running.url}`, fix: null };
  const left = note?.left[name];
  if (left !== undefined) return { ...alone, state: 'left_out', detail: left, fix: null };
  return { ...alone, state: 'missing', detail: 'does not run', fix: 'Start it: ./core up' };
}

function supervisedUnit({ state, pid, since, restarts, last_end }: SupervisedNote): Unit {
  const known = { pid, restarts, since };
  const again = restarts === 0 ? '' : `, started again ${times(restarts)}, last after ${last_end}`;
  if (state === 'given_up') {
    const fix =
      'Read its last words in the log of ./core up, correct what it says, and start ./core up again.';
    return { ...known, state: 'failed', detail: `ended: ${last_end}; it is not started again`, fix };
  }
  const fix = 'Its last words are in the log of ./core up.';
  if (state === 'waiting' || pid === null)
    return { ...known, state: 'waiting', detail: `ended: ${last_end}; it starts again soon`, fix };
  const now = processState(pid);
  if (now === 'stopped')
    return { ...known, state: 'stopped', detail: `process ${pid} is stopped`, fix: `kill -CONT ${pid}` };
  if (now === 'gone')
    return { ...known, state: 'waiting', detail: `process ${pid} is gone; it starts again soon`, fix };
  return { ...known, state: 'running', detail: `process ${pid}${again}`, fix: null };
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

/** By `/proc` (proc(5): T is stopped, Z and X have ended); elsewhere only whether there is such a process. */
export function processState(pid: number): 'running' | 'stopped' | 'gone' {
  if (process.platform !== 'linux') return exists(pid) ? 'running' : 'gone';
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const state = stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3);
    if (state === 'Z' || state === 'X') return 'gone';
    return state === 'T' || state === 't' ? 'stopped' : 'running';
  } catch {
    return 'gone';
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { runProgram } from '#kit/run-program.ts';

/** One process as `/proc` shows it. */
export interface Process {
  readonly pid: number;
  readonly parent: number;
  /** Clock ticks since boot; together with the pid it names a process for good. */
  readonly started: number;
  /** Bytes of memory in use, shared pages counted in full. */
  readonly resident: number;
}

/** Every process that a proc file system shows; empty where there is none. */
export function processesIn(folder: string): Process[] {
  const processes: Process[] = [];
  for (const name of entries(folder)) {
    if (!/^\d+$/.test(name)) continue;
    const process = parseStat(readText(`${folder}/${name}/stat`));
    if (process) processes.push(process);
  }
  return processes;
}

/** The processes among `all` whose ancestors include one of `roots`, and those themselves. */
export function familyOf(all: readonly Process[], roots: Iterable<number>): Process[] {
  const members = new Set(roots);
  for (let before = -1; before !== members.size; ) {
    before = members.size;
    for (const { pid, parent } of all) if (members.has(parent)) members.add(pid);
  }
  return all.filter(({ pid }) => members.has(pid));
}

/** Bytes that a process uses, each shared page divided among its users; 0 when it is gone. */
export function proportionalBytes(folder: string, pid: number): number {
  const line = /^Pss:\s+(\d+) kB/m.exec(readText(`${folder}/${pid}/smaps_rollup`));
  return line ? Number(line[1]) * 1024 : 0;
}

/** True if this process still runs, not a later one with the same pid. */
export function isAlive(pid: number, started: number): boolean {
  const text = readText(`/proc/${pid}/stat`);
  return parseStat(text)?.started === started && !/\) [ZX] /.test(text);
}

export function processAt(pid: number): Process | null {
  return parseStat(readText(`/proc/${pid}/stat`));
}

/** See proc(5), `/proc/pid/stat`. The command in parentheses can hold anything, parentheses included. */
function parseStat(text: string): Process | null {
  const end = text.lastIndexOf(')');
  if (end < 0) return null;
  const pid = Number.parseInt(text, 10);
  const fields = text.slice(end + 2).split(' ');
  const [parent, started, pages] = [fields[1], fields[19], fields[21]].map(Number) as [
    number,
    number,
    number,
  ];
  return { pid, parent, started, resident: pages * pageSize() };
}

let knownPageSize = 0;

function pageSize(): number {
  if (knownPageSize === 0) knownPageSize = auxiliaryValue(6) ?? 4096;
  return knownPageSize;
}

/** A value of the auxiliary vector by its type, see getauxval(3): it is read at once, where `/proc/self/smaps` takes milliseconds. */
function auxiliaryValue(type: number): number | undefined {
  const vector = Buffer.from(readText('/proc/self/auxv', 'latin1'), 'latin1');
  for (let at = 0; at + 16 <= vector.length; at += 16) {
    if (vector.readBigUInt64LE(at) === BigInt(type)) return Number(vector.readBigUInt64LE(at + 8));
  }
  return undefined;
}

/** Processes end while they are looked at; what cannot be read any more is empty. */
function readText(path: string, encoding: BufferEncoding = 'utf8'): string {
  try {
    return readFileSync(path, encoding);
  } catch {
    return '';
  }
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** True if a process was started with this `NAME=value`; false for those of other people. */
export function hasInEnvironment(pid: number, variable: string): boolean {
  return readText(`/proc/${pid}/environ`).split('\0').includes(variable);
}

/** What `processes` keep open and no folder lists: files in memory (memfd_create), and deleted files of the disk that `workspace` is on. */
export function namelessBytes(
  proc: string,
  processes: readonly Process[],
  workspace: string,
): { readonly memory: number; readonly disk: number } {
  const { dev } = statSync(workspace);
  const memory = new Map<number, number>();
  const disk = new Map<number, number>();
  for (const { pid } of processes) {
    const folder = `${proc}/${pid}/fd`;
    for (const name of entries(folder)) {
      const path = `${folder}/${name}`;
      try {
        const inMemory = readlinkSync(path).startsWith('/memfd:');
        const facts = statSync(path);
        if (!facts.isFile() || facts.nlink > 0) continue;
        if (inMemory) memory.set(facts.ino, facts.blocks * 512);
        else if (facts.dev === dev) disk.set(facts.ino, facts.blocks * 512);
      } catch {
        // Closed in between.
      }
    }
  }
  return { memory: sum(memory), disk: sum(disk) };
}

/**
 * Bytes that a folder takes of its disk. `complete` is false where a part of it could not be read: whoever fills a folder
 * can take the right to read it away.
 */
export async function folderBytes(
  folder: string,
): Promise<{ readonly bytes: number; readonly complete: boolean }> {
  const result = await runProgram('du', ['-skx', '--', folder]).catch(() => null);
  const text = result?.stdout.toString() ?? '';
  return {
    bytes: (Number.parseInt(text, 10) || 0) * 1024,
    complete: text !== '' && !/denied|File name too long/i.test(result!.stderr),
  };
}

function sum(sizes: ReadonlyMap<number, number>): number {
  return [...sizes.values()].reduce((total, size) => total + size, 0);
}

/** SIGKILL to a process, or with a negative number to its group; one that has ended is no error. */
export function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {}
}

import { closeSync, fstatSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '#kit/errors.ts';
import { namesIn, reading, unreadable } from './captured-tree.ts';
import { bytesEntry, fileEntry, rangeOf } from './entries.ts';
import { isPassing } from './state-folder.ts';
import type { TarEntry } from './tar-stream.ts';

const logName = 'events.jsonl';
const tombstoneName = 'tombstone.json';
const artifactsName = 'artifacts';
const lineFeed = 0x0a;

/** What is counted of the runs while they are written. */
export interface RunCounts {
  runs: number;
  events: number;
}

/**
 * One run: its log as long as it was, its artifacts, and its views where it is still as it was. A view that is missing is made
 * again with the next event.
 * @param size of the log, -1 where there was none
 */
export async function* runEntries(
  runs: string,
  runId: string,
  size: number,
  counts: RunCounts,
): AsyncGenerator<TarEntry> {
  const folder = join(runs, runId);
  const name = `state/runs/${runId}`;
  const log = size < 0 ? null : openLog(join(folder, logName));
  try {
    // It may have been pruned meanwhile.
    const tombstone =
      log === null ? fileEntry(`${name}/${tombstoneName}`, join(folder, tombstoneName)) : null;
    if (tombstone !== null) yield tombstone;
    if (log === null) return;
    const { length, events } = wholeLines(log, size);
    counts.runs++;
    counts.events += events;
    yield {
      kind: 'file',
      name: `${name}/${logName}`,
      size: length,
      executable: false,
      content: rangeOf(log, length, join(folder, logName)),
    };
    const artifacts = (namesIn(join(folder, artifactsName)) ?? []).filter((one) =>
      /^[0-9a-f]{64}$/.test(one),
    );
    for (const one of artifacts.toSorted()) {
      const entry = fileEntry(`${name}/${artifactsName}/${one}`, join(folder, artifactsName, one));
      if (entry !== null) yield entry;
    }
    const views = readViews(folder);
    if (fstatSync(log).size === size)
      for (const [view, bytes] of views) yield bytesEntry(`${name}/${view}`, bytes);
  } finally {
    if (log !== null) closeSync(log);
  }
}

function openLog(path: string): number | null {
  return reading(path, () => openSync(path, 'r'));
}

/** Behind the last line break is what a crash left of a write. */
function wholeLines(fd: number, size: number): { length: number; events: number } {
  const buffer = Buffer.alloc(256 * 1024);
  let length = 0;
  let events = 0;
  for (let position = 0; position < size; ) {
    const read = readSync(fd, buffer, 0, Math.min(buffer.length, size - position), position);
    if (read === 0) break;
    for (let at = buffer.indexOf(lineFeed); at >= 0 && at < read; at = buffer.indexOf(lineFeed, at + 1)) {
      events++;
      length = position + at + 1;
    }
    position += read;
  }
  return { length, events };
}

/** Everything beside log and artifacts, by name. */
function readViews(folder: string): Map<string, Uint8Array> {
  const views = new Map<string, Uint8Array>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length + 1);
    const isOther = name === logName || name.startsWith(`${artifactsName}/`);
    if (!entry.isFile() || isOther || isPassing(entry.name)) continue;
    const bytes = readIfThere(path);
    if (bytes !== null) views.set(name, bytes);
  }
  return views;
}

function readIfThere(path: string): Uint8Array | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw unreadable(path, error);
  }
}

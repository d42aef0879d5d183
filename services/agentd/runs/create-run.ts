import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { crashPoint } from '#kit/crash-point.ts';
import { makePrivateFolder, syncFolder, writeAll } from '#kit/durable-file.ts';
import type { RunRequest } from './event.ts';
import { beforeFirst } from './event-line.ts';
import { writeLines } from './event-log.ts';
import { fold } from './fold.ts';
import type { Heads } from './heads.ts';
import type { Run } from './run.ts';
import { artifactsName, logName } from './run-folder.ts';

/**
 * Makes the folder of a new run with its first event. It gets its name only when it is complete, so that no crash
 * leaves a run without events.
 */
export function createRunFolder(
  runsDir: string,
  heads: Heads,
  request: RunRequest,
  at: string,
): { run: Run; size: number } {
  const runId = `run_${uuidv7()}`;
  const folder = join(runsDir, `.${runId}.new`);
  const { lines, text } = writeLines(beforeFirst, at, [
    { type: 'run_created', data: { request, head_kept: true } },
  ]);
  heads.create(runId);
  try {
    mkdirSync(folder, { mode: 0o700 });
    makePrivateFolder(join(folder, artifactsName));
    writeNewFile(join(folder, logName), text);
    syncFolder(folder);
    renameSync(folder, join(runsDir, runId));
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  syncFolder(runsDir);
  crashPoint('run_named');
  const run = fold(runId, lines);
  heads.acknowledge(runId, lines[0]!);
  return { run, size: Buffer.byteLength(text) };
}

function writeNewFile(path: string, text: string): void {
  const fd = openSync(path, 'wx', 0o600);
  try {
    writeAll(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UUID } from 'uuidv7';
import { headsName } from '#kit/folders.ts';
import { beforeFirst } from '../../services/agentd/runs/log/event-line.ts';
import { writeLines } from '../../services/agentd/runs/log/event-log.ts';
import { headText } from '../../services/agentd/runs/log/heads.ts';
import { artifactsName, logName } from '../../services/agentd/runs/log/run-folder.ts';
import { planned, sampleRequest } from '../contract/run-store.sample.ts';

/**
 * Writes planned runs of some repositories as the store would, but without waiting for the disk, and without an index: the
 * first list makes that.
 */
export function writeRuns(stateDir: string, howMany: number): void {
  const heads = join(stateDir, headsName);
  mkdirSync(heads, { recursive: true, mode: 0o700 });
  const start = Date.now() - howMany * 60_000;
  for (let made = 0; made < howMany; made++) {
    const msecs = start + made * 60_000;
    const runId = `run_${UUID.fromFieldsV7(msecs, 0, 0, made)}`;
    const request = sampleRequest({ repo: `repository-${made % 40}`, number: 1 + (made % 700) });
    const events = [
      { type: 'run_created' as const, data: { request, head_kept: true as const } },
      ...planned(runId, 5),
    ];
    const { lines, text } = writeLines(beforeFirst, new Date(msecs).toISOString(), events);
    const folder = join(stateDir, 'runs', runId);
    mkdirSync(join(folder, artifactsName), { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, logName), text, { mode: 0o600 });
    const { seq, hash, type } = lines.at(-1)!;
    const head = { run_id: runId, acknowledged: { seq, hash, type }, pending: null, pruned: false };
    writeFileSync(join(heads, runId), headText(head), { mode: 0o600 });
  }
}

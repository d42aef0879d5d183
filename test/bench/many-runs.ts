import { join } from 'node:path';
import { UUID } from 'uuidv7';
import { openSqlite } from '#kit/database/sqlite.ts';
import { beforeFirst, writeLines } from '../../services/agentd/runs/log/event-line.ts';
import { fold } from '../../services/agentd/runs/log/fold.ts';
import { insertLines } from '../../services/agentd/runs/rows/append-rows.ts';
import { summaryColumns, valuesOf } from '../../services/agentd/runs/rows/run-rows.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { planned, sampleRequest } from '../contract/run-store.sample.ts';

/** Writes planned runs of some repositories in the format of the store, many in one transaction. */
export async function writeRuns(stateDir: string, howMany: number): Promise<void> {
  const database = openSqlite(join(stateDir, agentdSchema.file), agentdSchema);
  const start = Date.now() - howMany * 60_000;
  const columns = ['run_id', 'seq', 'hash', 'type', ...summaryColumns, 'changed_at', 'changed_in'];
  const places = columns.map((_, index) => `$${index + 1}`).join(', ');
  await database.transaction(async (sql) => {
    for (let made = 0; made < howMany; made++) {
      const msecs = start + made * 60_000;
      const runId = `run_${UUID.fromFieldsV7(msecs, 0, 0, made)}`;
      const request = sampleRequest({ repo: `repository-${made % 40}`, number: 1 + (made % 700) });
      const events = [
        { type: 'run_created' as const, data: { request, head_kept: true as const } },
        ...planned(runId, 5),
      ];
      const { lines, text } = writeLines(beforeFirst, new Date(msecs).toISOString(), events);
      const { seq, hash, type } = lines.at(-1)!;
      const shown = valuesOf(fold(runId, lines), Buffer.byteLength(text));
      await sql.query(`INSERT INTO runs (${columns.join(', ')}) VALUES (${places})`, [
        ...[runId, seq, hash, type, ...shown, msecs, made + 1],
      ]);
      await insertLines(sql, runId, lines, text);
    }
  });
  await database.close();
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '#kit/storage/database.ts';
import { MovedRows, type MovedTable } from '#kit/storage-move/moved-tables.ts';
import type { MoveOptions, MovePart } from '#kit/storage-move/part.ts';
import { continueNumbers, sameColumns } from '#kit/storage-move/same-columns.ts';
import { notificationsKind } from './sqlite-notification-rows.ts';

const jobs = sameColumns({
  name: 'notifications',
  sqlite: 'jobs',
  postgres: 'notification_jobs',
  key: ['seq'],
  columns: {
    ...{ seq: 'bigint', person: 'text', channel: 'text', notice_id: 'text', notice: 'text', state: 'text' },
    ...{ created_at: 'bigint', changed_at: 'bigint', attempts: 'bigint', due_at: 'bigint' },
    ...{ reason_code: 'text', reason: 'text' },
  },
  finish: continueNumbers('notification_jobs'),
});

const people = sameColumns({
  name: 'people who are notified',
  sqlite: 'people',
  postgres: 'notification_people',
  key: ['person'],
  columns: { person: 'text', since: 'bigint' },
  // There is a queue once there is somebody to notify.
  async finish(sql) {
    await sql.query(
      `INSERT INTO notification_begin (at) SELECT min(since) FROM notification_people HAVING count(*) > 0 ON CONFLICT DO NOTHING`,
    );
  },
});

const seen = sameColumns({
  name: 'runs looked at for notifications',
  sqlite: 'seen',
  postgres: 'notification_seen',
  key: ['run_id'],
  columns: { run_id: 'text', size: 'bigint' },
});

/** Of files a queue is made only where there is one to move. */
export async function notificationParts(options: MoveOptions): Promise<MovePart[]> {
  const path = join(options.folders.state, 'notifications.sqlite');
  const begun = 'SELECT 1 FROM notification_begin';
  const isThere =
    options.to === 'postgres' ? existsSync(path) : (await options.database.query(begun)).length > 0;
  if (!isThere && !existsSync(path)) return [];
  const writer = openDatabase(path, notificationsKind);
  // Nobody opens the files of an installation that is in a database.
  if (options.to === 'postgres') writer.exec('BEGIN IMMEDIATE');
  const part = (table: MovedTable) => new MovedRows(table, { path, writer }, options);
  const first = part(jobs);
  first.prepare = async () => {
    const free =
      "SET state = 'pending', due_at = coalesce(due_at, changed_at), claim = NULL, claimed_until = NULL WHERE state = 'processing'";
    if (options.to === 'files') await options.database.query(`UPDATE notification_jobs ${free}`);
    else {
      writer.exec(`UPDATE jobs ${free}; COMMIT; BEGIN IMMEDIATE`);
    }
  };
  first.close = async () => writer.close();
  return [first, part(people), part(seen)];
}

import { DatabaseSync } from 'node:sqlite';
import { Unavailable } from './errors.ts';
import { sqliteCode, sqliteCodes } from './sqlite-error.ts';

/**
 * Does short, synchronous work while no other process does work under the same lock. SQLite holds the lock through the
 * operating system, so that it ends with its process. The file stays.
 * @throws Unavailable (`lock_busy`) when others hold it for five seconds
 */
export function withFileLock<T>(path: string, work: () => T): T {
  const database = new DatabaseSync(path, { timeout: 5000 });
  try {
    database.exec('BEGIN EXCLUSIVE');
    return work();
  } catch (error) {
    if (sqliteCode(error) !== sqliteCodes.busy) throw error;
    throw new Unavailable('lock_busy', `another process holds ${path}`, { cause: error, facts: { path } });
  } finally {
    database.close();
  }
}

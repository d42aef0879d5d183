import type { DatabaseSync } from 'node:sqlite';
import { Failed } from '#kit/errors.ts';

/**
 * Brings a record's tables up to date. The caller holds the only connection that writes.
 * @param versions each entry brings the record from the version before it to its own; entries are only ever added
 * @throws Failed (`record_newer`)
 */
export function migrate(db: DatabaseSync, versions: readonly string[]): void {
  const { user_version: present } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (present > versions.length) {
    throw new Failed(
      'record_newer',
      `the context record is of version ${present}: this Core knows versions up to ${versions.length}`,
      { hint: 'Start the newer Core that wrote it, or choose another folder with --home DIR.' },
    );
  }
  for (let version = present; version < versions.length; version++) {
    db.exec(`BEGIN IMMEDIATE; ${versions[version]!}; PRAGMA user_version = ${version + 1}; COMMIT`);
  }
}

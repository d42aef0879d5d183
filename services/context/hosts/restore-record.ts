import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { crashPoint } from '#kit/crash-point.ts';
import { syncFolder } from '#kit/durable-file.ts';
import { Conflict, Failed } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { ObjectStore } from '#kit/objects/object-store.ts';
import { holdFolder } from '#kit/storage/lock.ts';
import { recordFolder, recordPath, recordThing } from '../record/connection.ts';
import { pageDamage } from '../record/open-record.ts';
import { forgetDamage } from '../record/recovery.ts';
import { type Backup, type BackupRows, objectOf, type Piece } from './backup-rows.ts';
import { digestOfPiece, FilePieces, forEachPiece, pieceBytes } from './file-pieces.ts';
import { giveNewIdentity, recordFacts } from './record-copy.ts';

export interface RestoreParts {
  readonly rows: BackupRows;
  readonly store: ObjectStore;
  /** Folder of the state. */
  readonly state: string;
  readonly logger: Logger;
}

/** Where a record of this host is no copy of the one that is backed up. @throws Conflict (`context_record_foreign`) */
export async function requireOwnRecord(rows: BackupRows, state: string): Promise<void> {
  const path = recordPath(state);
  const facts = recordFacts(path);
  if (facts === null || !facts.matters) return;
  // A database that lost its last transactions may know only what the record goes on from.
  if (await rows.knows([facts.record, ...facts.origins])) return;
  if ((await rows.list()).length === 0) return;
  throw new Conflict(
    'context_record_foreign',
    `${path} is no copy of the record that the hosts of this database share, and holds memories or runs of its own`,
    {
      facts: { path },
      hint: 'Start it without storage.s3, ./core context export memory.jsonl, move its file away, and import the memories at the active core-context. Or run none here: ./core up --without context.',
    },
  );
}

/**
 * Brings the record of this host to the newest backup that is whole. Pieces that it has already are not fetched; a record that is the
 * backup already is left as it is.
 * @returns `kept` where the record is that of the newest backup already; `renewed` where it is another one now, or none
 * @throws Failed (`context_backup_damaged`), Unavailable (`objects_unavailable`), Conflict (`record_held`, `context_record_foreign`)
 */
export async function restoreRecord(parts: RestoreParts): Promise<Restored> {
  const { rows, state } = parts;
  await requireOwnRecord(rows, state);
  const backups = await rows.list();
  if (backups.length === 0) return 'renewed';
  const hold = holdFolder(recordFolder(state), { code: 'record_held', name: recordThing.name });
  let isChecked = false;
  try {
    for (const [index, backup] of backups.entries()) {
      const found = await restoreOne(parts, backup, pageDamage);
      isChecked = typeof found === 'string';
      if (typeof found === 'string') return found;
      await reportDamage(parts, { backup, damage: found, before: backups[index + 1] ?? null });
    }
    // Whoever opens one with damaged pages makes it again of what can be read.
    for (const backup of backups) {
      const found = await restoreOne(parts, backup, () => null);
      if (typeof found === 'string') return found;
    }
  } finally {
    // Else whoever opens the record now checks its pages.
    if (isChecked) hold.release();
    else hold.abandon();
  }
  throw new Failed(
    'context_backup_damaged',
    `none of the ${backups.length} backups of the context record is whole`,
    {
      facts: { backups: backups.map(({ backup }) => backup) },
      hint: 'The log names the pieces. Restore the bucket from its own versions or backup, then start again.',
    },
  );
}

/** What became of the record of this host. */
export type Restored = 'kept' | 'renewed';

/** What of a backup is not what was written. */
interface Damage {
  /** null: its pieces are as they were written, and the record was damaged then. */
  readonly piece: Piece | null;
  readonly found: string;
}

async function reportDamage(
  { rows, store, logger }: RestoreParts,
  { backup, damage: { piece, found }, before }: { backup: Backup; damage: Damage; before: Backup | null },
): Promise<void> {
  const next =
    before === null
      ? 'there is none before it'
      : `the one before it is backup ${before.backup} of ${before.at.toISOString()}, and what was recorded since is in the journal`;
  logger.error(
    `backup ${backup.backup} of the context record is refused: ${piece === null ? 'it' : `${store.name}${objectOf(piece)}`} ${found}; ${next}`,
  );
  if (piece !== null) await rows.giveUp([piece]);
}

/**
 * @param check why the pages of a record do not hold, or null
 * @returns what is damaged, where nothing became of it
 */
async function restoreOne(
  parts: RestoreParts,
  backup: Backup,
  check: (path: string) => string | null,
): Promise<Damage | Restored> {
  const { state } = parts;
  const path = recordPath(state);
  const incoming = `${path}.incoming`;
  rmSync(incoming, { force: true });
  const { damage, fetched } = await assemble(parts, { backup, from: path, to: incoming });
  if (damage !== null) return damage;
  const broken = check(incoming);
  if (broken !== null) return { piece: null, found: `is of a damaged record (${broken})` };
  const isKept = !fetched && isWholly(path, backup.bytes);
  if (!isKept) {
    giveNewIdentity(incoming);
    // Else it would be a stranger's after a crash before its first backup.
    await parts.rows.learn(recordFacts(incoming)!.record);
    crashPoint('context.restore_fetched');
    for (const suffix of ['-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
    renameSync(incoming, path);
    syncFolder(recordFolder(state));
    crashPoint('context.restore_placed');
  }
  rmSync(incoming, { force: true });
  forgetDamage(recordFolder(state));
  return isKept ? 'kept' : 'renewed';
}

/** Whether the file holds these bytes alone, and no log beside it holds more. */
function isWholly(path: string, bytes: number): boolean {
  const logged = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  return logged === 0 && statSync(path, { throwIfNoEntry: false })?.size === bytes;
}

/** Makes the backup's file of what this host has of it and of the bucket; each piece is checked against its digest. */
async function assemble(
  { store }: RestoreParts,
  { backup, from, to }: { readonly backup: Backup; readonly from: string; readonly to: string },
): Promise<{ readonly damage: Damage | null; readonly fetched: boolean }> {
  const target = await open(to, 'wx', 0o600);
  let damage: Damage | null = null;
  let fetched = false;
  try {
    await withPieces(from, async (own) => {
      await forEachPiece([...backup.pieces.entries()], async ([index, piece]) => {
        if (damage !== null) return;
        let content = (await own?.read(index)) ?? null;
        if (content === null || digestOfPiece(content) !== piece.digest) {
          fetched = true;
          content = await download(store, piece);
          const found = content === null ? 'is not there' : digestOfPiece(content);
          if (found !== piece.digest) {
            damage = { piece, found: content === null ? found : `has the sha256 ${found}` };
            return;
          }
        }
        await writeAt(target, content!, index * pieceBytes);
      });
    });
    await target.sync();
  } finally {
    await target.close();
  }
  return { damage, fetched };
}

function withPieces(path: string, work: (own: FilePieces | null) => Promise<void>): Promise<void> {
  return existsSync(path) ? FilePieces.with(path, work) : work(null);
}

async function download(store: ObjectStore, piece: Piece): Promise<Buffer | null> {
  const content = await store.get(objectOf(piece));
  return content === null ? null : await buffer(content);
}

async function writeAt(file: FileHandle, content: Buffer, position: number): Promise<void> {
  for (let done = 0; done < content.length; ) {
    const { bytesWritten } = await file.write(content, done, content.length - done, position + done);
    done += bytesWritten;
  }
}

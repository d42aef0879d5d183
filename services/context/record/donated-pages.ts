import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';

const interiorTablePage = 0x05;
const headerBytes = 100;

/**
 * Without its first page a database names no table. Records of one version lay their tables out alike, so an empty one of the
 * same version can give the pages that hold the schema; layout by sqlite.org/fileformat2.html.
 * @returns whether it could be done
 */
export function donateFirstPages(path: string, empty: DatabaseSync): boolean {
  const donor = pagesOf(empty);
  if (donor === null) return false;
  const { bytes, size } = donor;
  const first = Buffer.from(bytes.subarray(0, size));
  // No free pages are known, and a version that differs from the change counter makes SQLite trust the file's size.
  first.writeUInt32BE(0, 32);
  first.writeUInt32BE(0, 36);
  first.writeUInt32BE(first.readUInt32BE(24) + 1, 92);
  const file = openSync(path, 'r+');
  try {
    const probe = Buffer.alloc(1);
    if (readSync(file, probe, 0, 1, size) === 0) return false;
    writeSync(file, first, 0, size, 0);
    for (const page of childrenOf(first)) {
      const at = (page - 1) * size;
      writeSync(file, bytes, at, size, at);
    }
    return true;
  } finally {
    closeSync(file);
  }
}

function pagesOf(db: DatabaseSync): { bytes: Buffer; size: number } | null {
  const { file } = db.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'").get() as {
    file: string;
  };
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const bytes = readFileSync(file);
  const declared = bytes.readUInt16BE(16);
  const size = declared === 1 ? 65_536 : declared;
  return bytes.length >= size ? { bytes, size } : null;
}

/** Page numbers below a schema that does not fit into the first page. */
function childrenOf(first: Buffer): number[] {
  if (first[headerBytes] !== interiorTablePage) return [];
  const cells = first.readUInt16BE(headerBytes + 3);
  const pointers = Array.from({ length: cells }, (_, n) => first.readUInt16BE(headerBytes + 12 + 2 * n));
  return [...pointers.map((at) => first.readUInt32BE(at)), first.readUInt32BE(headerBytes + 8)];
}

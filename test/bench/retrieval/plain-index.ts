import { DatabaseSync } from 'node:sqlite';
import { readObjects } from '#kit/git/objects.ts';
import { linkMode, readTree, submoduleMode } from '#kit/git/tree.ts';

const linesOfChunk = 60;
const mostBytes = 1024 * 1024;

/** What anybody would build in an hour: FTS5 as it comes, over whole files and over pieces of 60 lines. */
export class PlainIndex {
  readonly #gitDir: string;
  readonly #db = new DatabaseSync(':memory:');
  readonly #blobs = new Map<string, string>();

  constructor(gitDir: string) {
    this.#gitDir = gitDir;
    this.#db.exec(`
      CREATE VIRTUAL TABLE files USING fts5(path, body, tokenize = 'unicode61');
      CREATE VIRTUAL TABLE chunks USING fts5(path UNINDEXED, body, tokenize = 'unicode61');`);
  }

  /** Holds what a commit holds, and nothing else. */
  async moveTo(commit: string): Promise<void> {
    const tree = (await readTree(this.#gitDir, commit)).filter(
      ({ mode }) => mode !== linkMode && mode !== submoduleMode,
    );
    const present = new Map(tree.map(({ path, id }) => [path, id]));
    for (const [path, id] of this.#blobs) if (present.get(path) !== id) this.#remove(path);
    const missing = tree.filter(({ path }) => !this.#blobs.has(path));
    let at = 0;
    this.#db.exec('BEGIN');
    for await (const { bytes } of readObjects(
      this.#gitDir,
      missing.map(({ id }) => id),
    )) {
      const { path, id } = missing[at++]!;
      this.#blobs.set(path, id);
      if (bytes.length <= mostBytes && !bytes.subarray(0, 8000).includes(0))
        this.#add(path, bytes.toString());
    }
    this.#db.exec('COMMIT');
  }

  files(query: string, limit: number): string[] {
    return this.#matches('files', query, limit);
  }

  /** The files of the best chunks. */
  chunks(query: string, limit: number): string[] {
    return [...new Set(this.#matches('chunks', query, limit * 20))].slice(0, limit);
  }

  #matches(table: 'files' | 'chunks', query: string, limit: number): string[] {
    const words = new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
    if (words.size === 0) return [];
    const match = [...words].map((word) => `"${word}"`).join(' OR ');
    const rows = this.#db
      .prepare(`SELECT path FROM ${table} WHERE ${table} MATCH ? ORDER BY rank LIMIT ?`)
      .all(match, limit);
    return rows.map(({ path }) => path as string);
  }

  #add(path: string, text: string): void {
    this.#db.prepare('INSERT INTO files (path, body) VALUES (?, ?)').run(path, text);
    const lines = text.split('\n');
    const chunk = this.#db.prepare('INSERT INTO chunks (path, body) VALUES (?, ?)');
    for (let from = 0; from < lines.length; from += linesOfChunk) {
      chunk.run(path, lines.slice(from, from + linesOfChunk).join('\n'));
    }
  }

  #remove(path: string): void {
    this.#blobs.delete(path);
    this.#db.prepare('DELETE FROM files WHERE path = ?').run(path);
    this.#db.prepare('DELETE FROM chunks WHERE path = ?').run(path);
  }
}

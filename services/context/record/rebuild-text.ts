import { indexText } from '../search/index-text.ts';
import type { GraphRecord } from './graph-record.ts';

interface Body {
  readonly node: number;
  readonly title: string;
  readonly path: string | null;
  readonly text: string;
}

/**
 * Makes the text index anew from the texts that it was made of, node by node, for a while.
 * @param after the last node that was done; 0 to begin
 * @returns the last node that was done now; null when all are
 */
export function rebuildTexts(
  record: GraphRecord,
  { after, milliseconds }: { readonly after: number; readonly milliseconds: number },
): number | null {
  const end = performance.now() + milliseconds;
  const next = record.prepare(
    `SELECT b.node, n.title, n.path, b.text FROM bodies b JOIN nodes n ON n.node = b.node
     WHERE b.node > ? ORDER BY b.node LIMIT 1`,
  );
  for (let done = after; ; ) {
    const body = next.get(done) as Body | undefined;
    if (body === undefined) return null;
    indexText(record, body.node, { title: body.title, path: body.path, body: body.text });
    done = body.node;
    if (performance.now() > end) return done;
  }
}

/** Full-text tables that keep no text of their own, but say in which table it lies, can make themselves anew. */
export function rebuildLinkedIndexes(record: GraphRecord): void {
  const rows = record.db
    .prepare("SELECT name, sql FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING fts5(%'")
    .all() as { name: string; sql: string }[];
  for (const { name, sql } of rows) {
    if (/content\s*=\s*'[^']+'/.test(sql))
      record.db.exec(`INSERT INTO "${name}" ("${name}") VALUES ('rebuild')`);
  }
}

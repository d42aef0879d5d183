import type { GraphRecord } from '../record/graph-record.ts';

export interface NodeText {
  readonly title: string;
  readonly path: string | null;
  readonly body: string;
}

/** Makes a node findable by its text, in place of the text that it had. */
export function indexText(record: GraphRecord, node: number, { title, path, body }: NodeText): void {
  forgetText(record, node);
  record.prepare('INSERT INTO bodies (node, text) VALUES (?, ?)').run(node, body);
  record
    .prepare('INSERT INTO texts (rowid, title, path, body) VALUES (?, ?, ?, ?)')
    .run(node, title, path ?? '', body);
}

export function forgetText(record: GraphRecord, node: number): void {
  record.prepare('DELETE FROM texts WHERE rowid = ?').run(node);
  record.prepare('DELETE FROM bodies WHERE node = ?').run(node);
}

import type { GraphRecord } from '../record/graph-record.ts';
import { addPathTerms } from './words/path-terms.ts';
import { addTerms, type Terms } from './words/words.ts';

export interface NodeText {
  readonly title: string;
  readonly path: string | null;
  readonly body: string;
}

/** Makes a node findable by its text, in place of the text that it had. */
export function indexText(record: GraphRecord, node: number, { title, path, body }: NodeText): void {
  forgetText(record, node);
  record.prepare('INSERT INTO bodies (node, text) VALUES (?, ?)').run(node, body);
  if (isWhole(record, node)) {
    record
      .prepare('INSERT INTO whole_index (rowid, name, path, body) VALUES (?, ?, ?, ?)')
      .run(node, nameText(title), pathText(path), bagText(body));
  } else {
    record
      .prepare('INSERT INTO part_index (rowid, name, body) VALUES (?, ?, ?)')
      .run(node, nameText(title), bagText(body));
  }
}

export function forgetText(record: GraphRecord, node: number): void {
  for (const table of ['whole_index', 'part_index']) {
    record.prepare(`DELETE FROM ${table} WHERE rowid = ?`).run(node);
  }
  record.prepare('DELETE FROM bodies WHERE node = ?').run(node);
}

/** Whether a node is a file of its own, and not a part of one or something without a path. */
function isWhole(record: GraphRecord, node: number): boolean {
  const row = record.prepare('SELECT kind, path FROM nodes WHERE node = ?').get(node) as
    | { kind: string; path: string | null }
    | undefined;
  return row !== undefined && row.path !== null && (row.kind === 'file' || row.kind === 'document');
}

function nameText(title: string): string {
  const terms: Terms = new Map();
  addPathTerms(title, terms);
  return [...terms.keys()].join(' ');
}

function pathText(path: string | null): string {
  const terms: Terms = new Map();
  if (path !== null) addPathTerms(path, terms);
  return [...terms.keys()].join(' ');
}

/** Order says nothing, and the twentieth time no more than the sixteenth. */
function bagText(text: string): string {
  const terms: Terms = new Map();
  addTerms(text, terms);
  const parts: string[] = [];
  for (const [term, count] of terms) {
    const times = Math.min(count, mostTimes);
    for (let time = 0; time < times; time++) parts.push(term);
  }
  return parts.join(' ');
}

const mostTimes = 16;

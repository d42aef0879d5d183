import { openForWriting } from '../../services/context/record/connection.ts';
import { GraphRecord } from '../../services/context/record/graph-record.ts';
import { indexText } from '../../services/context/search/text-index.ts';
import { openRecord } from '../../services/context/store/access.ts';
import { randomNumbers } from '../fixtures/random-numbers.ts';

const at = '2026-01-01T00:00:00.000Z';
const repository = 'bench/large';
const wordCount = 5_000;

/** A record of so many nodes with texts, and three edges for each; the same every time. Its process must have ended its work with it. */
export function writeRecord(state: string, nodes: number): void {
  const opened = openRecord(state);
  const db = openForWriting(opened.path);
  db.exec('PRAGMA synchronous = OFF');
  const record = new GraphRecord(db);
  const random = randomNumbers(7);
  const rows: number[] = [];
  for (let n = 0; n < nodes; n++) {
    if (n % 5_000 === 0) db.exec(n === 0 ? 'BEGIN' : 'COMMIT; BEGIN');
    const node = putNode(record, n, random);
    for (let edge = 0; edge < 3 && rows.length > 0; edge++) {
      const to = rows[Math.floor(random() * rows.length)]!;
      record.putEdge({ from: node, to, type: 'CORE_RELATION', kind: kinds[edge]!, valid_from: at });
    }
    rows.push(node);
  }
  db.exec('COMMIT');
  db.close();
  opened.close();
}

const kinds = ['references', 'imports', 'mentions'] as const;

/** One file, then nine symbols in it. */
function putNode(record: GraphRecord, n: number, random: () => number): number {
  const isFile = n % 10 === 0;
  const path = `src/part${Math.floor(n / 1000)}/file${Math.floor(n / 10)}.ts`;
  const title = isFile ? path : `${word(random)}${word(random)}${n}`;
  const node = record.putNode({
    id: isFile ? `file:${repository}:${path}` : `symbol:${repository}:${path}#${title}`,
    label: 'CoreEntity',
    kind: isFile ? 'file' : 'symbol',
    title,
    repository,
    path,
    start_line: isFile ? null : n % 10,
    end_line: isFile ? null : (n % 10) + 5,
    valid_from: at,
  });
  const body = Array.from({ length: isFile ? 120 : 30 }, () => word(random)).join(' ');
  indexText(record, node, { title, path, body });
  return node;
}

/** Common words are common: the square makes small numbers likely. */
function word(random: () => number): string {
  const n = Math.floor(random() ** 2 * wordCount);
  return `${syllables[n % 20]}${syllables[Math.floor(n / 20) % 20]}${syllables[Math.floor(n / 400)]}`;
}

const syllables = 'ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu'.split(' ');

export function someWords(count: number, seed: number): string {
  const random = randomNumbers(seed);
  return Array.from({ length: count }, () => word(random)).join(' ');
}

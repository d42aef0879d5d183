import type { GraphRecord } from '../record/graph-record.ts';
import { indexText } from './index-text.ts';

interface Body {
  readonly node: number;
  readonly title: string;
  readonly path: string | null;
  readonly text: string;
}

export type Rebuilt = { readonly last: number; readonly done: number } | null;

/**
 * Makes the text index anew from the texts that it was made of, node by node, for a while.
 * @param after the last node that was done; 0 to begin
 * @returns the last node that was done now, and how many; null when none was left
 */
export function rebuildTexts(
  record: GraphRecord,
  { after, milliseconds }: { readonly after: number; readonly milliseconds: number },
): Rebuilt {
  const end = performance.now() + milliseconds;
  const next = record.prepare(
    `SELECT b.node, n.title, n.path, b.text FROM bodies b JOIN nodes n ON n.node = b.node
     WHERE b.node > ? ORDER BY b.node LIMIT 1`,
  );
  let last = after;
  for (let done = 0; ; done++) {
    const body = next.get(last) as Body | undefined;
    if (body === undefined) return done === 0 ? null : { last, done };
    if (done > 0 && performance.now() > end) return { last, done };
    indexText(record, body.node, { title: body.title, path: body.path, body: body.text });
    last = body.node;
  }
}

import type { RecordReader } from '../record/calls.ts';
import type { Digest, GraphDigests } from './digest.ts';
import type { graphQueries } from './graph-queries.ts';

export interface Difference {
  /** A label or a relationship type. */
  readonly what: string;
  /** null: there is none. */
  readonly record: Digest | null;
  readonly projection: Digest | null;
}

/** Whether a projection holds what the record holds: counts and contents, by label and type. */
export interface Comparison {
  readonly same: boolean;
  readonly nodes: number;
  readonly edges: number;
  readonly differences: readonly Difference[];
}

interface Compared {
  refresh(): Promise<unknown>;
  digests(): Promise<GraphDigests>;
}

const mostRounds = 5;

/** While others write, the two are looked at again: what differs for a moment is no difference. */
export async function compared(
  readers: RecordReader<typeof graphQueries>,
  projection: Compared,
): Promise<Comparison> {
  for (let round = 1; ; round++) {
    await projection.refresh();
    const before = await readers.ask('graphDigests', {});
    const there = await projection.digests();
    const differences = [...differ(before.nodes, there.nodes), ...differ(before.edges, there.edges)];
    const moved =
      differences.length > 0 &&
      JSON.stringify(await readers.ask('graphDigests', {})) !== JSON.stringify(before);
    if (moved && round < mostRounds) continue;
    return {
      same: differences.length === 0,
      nodes: sum(before.nodes),
      edges: sum(before.edges),
      differences,
    };
  }
}

function differ(
  record: Readonly<Record<string, Digest>>,
  projection: Readonly<Record<string, Digest>>,
): Difference[] {
  const names = [...new Set([...Object.keys(record), ...Object.keys(projection)])].sort();
  return names
    .map((what) => ({ what, record: record[what] ?? null, projection: projection[what] ?? null }))
    .filter(
      (each) => each.record?.count !== each.projection?.count || each.record?.sum !== each.projection?.sum,
    );
}

function sum(digests: Readonly<Record<string, Digest>>): number {
  return Object.values(digests).reduce((total, { count }) => total + count, 0);
}

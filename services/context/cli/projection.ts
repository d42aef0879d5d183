import { setTimeout } from 'node:timers/promises';
import { CypherReply } from '#kit/contracts/context/cypher.ts';
import { Health } from '#kit/contracts/health.ts';
import { CoreError } from '#kit/errors.ts';
import type { HttpClient } from '#kit/http/client.ts';

/** How far Cypher is behind the record. */
export interface Lag {
  readonly engine: string;
  readonly changes: number;
}

const askEveryMs = 250;

/** As `/healthz` says it; null where it does not. */
export async function readLag(client: HttpClient): Promise<Lag | null> {
  const health = await client.get('/healthz', Health).catch((error: unknown) => {
    if (error instanceof CoreError) return null;
    throw error;
  });
  const detail = health?.checks.cypher?.detail;
  if (detail === undefined) return null;
  const engine = detail.split(':', 1)[0]!;
  return { engine, changes: Number(/(\d+) changes behind/.exec(detail)?.[1] ?? 0) };
}

/**
 * Waits until Cypher knows what was committed when this was called. The embedded engine reads what is new when it is asked; a mirror
 * follows by itself.
 * @returns what is left when the time is over
 */
export async function waitForProjection(client: HttpClient, milliseconds: number): Promise<Lag | null> {
  const end = performance.now() + milliseconds;
  for (;;) {
    const lag = await readLag(client);
    if (lag === null || lag.changes === 0 || performance.now() > end) return lag;
    if (lag.engine !== 'neo4j') await ask(client);
    await setTimeout(askEveryMs);
  }
}

async function ask(client: HttpClient): Promise<void> {
  try {
    await client.post(
      '/v1/graphdb/cypher',
      { query: 'MATCH (t:Task) RETURN t.id AS id', limit: 1 },
      CypherReply,
    );
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
  }
}

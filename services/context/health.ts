import { statfs } from 'node:fs/promises';
import { type Health, type HealthCheck, type HealthStatus, healthOf } from '#kit/contracts/health.ts';
import { messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import type { Probe } from '#kit/health/probe.ts';
import type { ContextConfig } from './configuration.ts';
import type { Graph } from './graph/open-graph.ts';
import type { ActiveRecord } from './hosts/active-record.ts';
import type { RefreshJobs } from './http/refresh-jobs.ts';
import type { OpenRecord } from './record/open-record.ts';
import type { Readers } from './store/access.ts';
import type { Embedder } from './vectors/embedder.ts';

interface HealthParts {
  readonly version: string;
  readonly folders: Pick<Folders, 'state'>;
  readonly config: Pick<ContextConfig, 'repositories'>;
  readonly readers: Readers;
  readonly jobs: RefreshJobs;
  readonly record: Pick<OpenRecord, 'recovery'>;
  readonly graph: Pick<Graph, 'engine' | 'health'>;
  /** null where no server is configured. */
  readonly neo4j: Pick<Probe, 'check'> | null;
  /** null where no embeddings model is configured; it then has no check either. */
  readonly embedder: Pick<Embedder, 'model' | 'url' | 'state'> | null;
  /** null where the record is this host's alone; it then has no check either. */
  readonly active: Pick<ActiveRecord, 'health'> | null;
}

/** With less, in bytes, the next writes may not find room. */
const littleRoom = 16 * 1024 * 1024;

/** Without its record the service can do nothing; without anything else it can do less. */
export async function checkHealth(parts: HealthParts): Promise<Health> {
  const checks = {
    record: await check('failing', () => recordCheck(parts)),
    ...(parts.active === null ? {} : { backup: parts.active.health() }),
    disk: await check('degraded', () => diskCheck(parts)),
    text_index: await check('degraded', () => textCheck(parts)),
    cypher: await check('degraded', () => cypherCheck(parts)),
    ...(parts.neo4j === null ? {} : { neo4j: await parts.neo4j.check() }),
    repositories: await check('degraded', async () => repositoriesCheck(parts)),
    ...(parts.embedder === null ? {} : { embeddings: embeddingsCheck(parts.embedder) }),
  };
  return healthOf('core-context', parts.version, checks);
}

async function recordCheck({ readers, record }: HealthParts): Promise<HealthCheck> {
  await readers.ask('touchRecord', null);
  if (record.recovery === null) return { status: 'ok', detail: 'readable' };
  const { at, set_aside, reason, tables } = record.recovery;
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const detail = `readable; it was damaged (${reason}) and made again at ${at} from ${rows} rows that could be read. The damaged file is ${set_aside}; remove it when you need it no more`;
  return { status: 'degraded', detail };
}

async function diskCheck({ folders }: HealthParts): Promise<HealthCheck> {
  const { bavail, bsize } = await statfs(folders.state);
  const free = Math.floor((bavail * bsize) / 1_048_576);
  if (bavail * bsize >= littleRoom) return { status: 'ok', detail: `${free} MiB free` };
  return {
    status: 'degraded',
    detail: `${free} MiB free: writes are refused when it is full, and go on when there is room`,
  };
}

/** By a search, which reads what every search reads. */
async function textCheck({ readers }: HealthParts): Promise<HealthCheck> {
  const anywhere = { kinds: undefined, repository: undefined, as_of: undefined };
  await readers.ask('search', { query: 'health', limit: 1, ...anywhere });
  return { status: 'ok', detail: 'searchable' };
}

async function cypherCheck({ graph }: HealthParts): Promise<HealthCheck> {
  const { status, detail, lag } = await graph.health();
  const behind = lag.changes === 0 ? '' : `; ${lag.changes} changes behind for ${lag.seconds} s`;
  const backlog = { waiting: lag.changes, oldest_seconds: lag.changes === 0 ? 0 : lag.seconds };
  return { status, detail: `${graph.engine}: ${detail}${behind}`, backlog };
}

function embeddingsCheck({ model, url, state }: NonNullable<HealthParts['embedder']>): HealthCheck {
  const name = `${model} at ${url}`;
  if (state.answers !== false)
    return { status: 'ok', detail: `${name}: ${state.answers === null ? 'not asked yet' : 'answers'}` };
  return {
    status: 'degraded',
    detail: `${name}: ${state.problem}; memories are found by their words, and it is asked again`,
  };
}

function repositoriesCheck({ jobs, config }: HealthParts): HealthCheck {
  const [now] = jobs.running();
  const failed = [...jobs.outcomes().values()].flatMap((one) =>
    'error' in one ? [`${one.repository}: ${one.error.detail}`] : [],
  );
  if (failed.length > 0) return { status: 'degraded', detail: failed.join('; ') };
  if (now?.progress != null) {
    const { what, done, total } = now.progress;
    return { status: 'ok', detail: `reading ${what}: ${done} of ${total}` };
  }
  const configured = Object.keys(config.repositories).length;
  return { status: 'ok', detail: now === undefined ? `${configured} configured` : 'reading' };
}

async function check(otherwise: HealthStatus, work: () => Promise<HealthCheck>): Promise<HealthCheck> {
  try {
    return await work();
  } catch (error) {
    return { status: otherwise, detail: messageOf(error) };
  }
}

import { join } from 'node:path';
import { readReleasedSecrets } from '#kit/config/released-secrets.ts';
import { readSettings } from '#kit/config/settings.ts';
import type { Health } from '#kit/contracts/health.ts';
import { environment } from '#kit/environment.ts';
import { messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { mirrorFolder } from '#kit/git/mirror-folder.ts';
import { Probe } from '#kit/health/probe.ts';
import type { Route } from '#kit/http/route.ts';
import type { Logger } from '#kit/log.ts';
import type { Registry } from '#kit/prometheus.ts';
import { readSmallFile } from '#kit/small-file.ts';
import { checkAll } from './check.ts';
import type { ContextConfig } from './configuration.ts';
import { Execution, executionRoutes } from './execution/execution.ts';
import { openGraph } from './graph/open-graph.ts';
import { checkHealth } from './health.ts';
import type { ActiveRecord } from './hosts/active-record.ts';
import { adminRoutes } from './http/admin-routes.ts';
import { nameByForge } from './http/forge-names.ts';
import { cypherRoutes, searchRoutes } from './http/graph-routes.ts';
import { memoryRoutes } from './http/memory-routes.ts';
import { RefreshJobs } from './http/refresh-jobs.ts';
import { Ingestion } from './ingest/ingestion.ts';
import { Memory } from './memory/memory.ts';
import { rebuildAll } from './rebuild.ts';
import { recordFolder } from './record/connection.ts';
import { noteDamage } from './record/recovery.ts';
import { openRecord, type Readers, Writer } from './store/access.ts';
import { Embedder } from './vectors/embedder.ts';
import { EmbeddingsClient } from './vectors/embeddings-client.ts';

export interface ContextParts {
  readonly folders: Folders;
  readonly config: ContextConfig;
  /** Of the record, which may not be there yet; closed with the service. */
  readonly readers: Readers;
  readonly logger: Logger;
  readonly version: string;
  /** Where the record is one of several hosts', and this one is active. */
  readonly active?: ActiveRecord | null;
}

/** core-context without its HTTP server. */
export interface ContextService {
  readonly routes: readonly Route[];
  health(): Promise<Health>;
  /** null where the record is this host's alone. */
  readonly registry: Registry | null;
  /** Starts what is done without being asked for: reading the configured repositories. Resolves when forgetting is finished. */
  begin(): Promise<void>;
  /** Resolves with the reason when the record cannot be used any more: the process has to end and start again. */
  readonly broken: Promise<Error>;
  close(): Promise<void>;
}

/** The composition root of core-context. @throws what `openRecord` throws */
export async function composeContext({
  folders,
  config,
  readers,
  logger,
  version,
  active = null,
}: ContextParts): Promise<ContextService> {
  const record = openRecord(folders.state, (message) => logger.warn(message));
  if (record.recovery !== null) logger.warn(`a damaged record is set aside: ${record.recovery.set_aside}`);
  const writer = new Writer(record.path, readers, active?.journal);
  await active?.catchUp(writer);
  const embedder = embedderFor(config, folders, { readers, writer, logger });
  const memory = new Memory({
    embedder,
    writer,
    readers,
    path: record.path,
    async forgetElsewhere() {
      await graph.dropDeleted();
      await active?.forgetInBackups();
    },
  });
  const execution = new Execution({ writer, readers, memory });
  const ingestion = new Ingestion({
    writer,
    readers,
    config,
    configFile: join(folders.config, 'context.json'),
    released: () => readReleasedSecrets(folders),
  });
  const graph = openGraph({
    onServer: config.neo4j === null ? undefined : (await import('./graph/on-server.ts')).onServer,
    readers,
    config,
    password: neo4jPassword(config, folders),
    folder: join(recordFolder(folders.state), 'cypher'),
    logger,
  });

  const timeoutMs = readSettings({ folders, environment }).answers.seconds * 1000;
  const { reach } = graph;
  const neo4j = reach === null ? null : new Probe(() => reach(), { timeoutMs });

  const jobs = new RefreshJobs({
    ingestion,
    rebuild(progress, signal) {
      const historyCommits = config.ingestion.history_commits;
      return rebuildAll({ writer, readers, graph, historyCommits, progress, signal });
    },
    afterwards: () => memory.link(),
    logger,
  });

  const registry = active === null ? null : (await import('./hosts/metrics.ts')).contextMetrics(active);
  let closing = false;
  const configured = new Set(Object.values(config.repositories));
  const damaged = Promise.race([writer.damaged, readers.damaged]).then((error) => {
    noteDamage(recordFolder(folders.state), messageOf(error));
    return error;
  });

  return {
    routes: [
      ...adminRoutes({
        jobs,
        ingestion,
        check: () => checkAll(record.path, graph),
        nameOf: (path) => (configured.has(path) ? Promise.resolve(null) : nameByForge(path, folders)),
        mirrorOf: (repository) => mirrorFolder(folders.state, repository),
      }),
      ...searchRoutes(readers),
      ...memoryRoutes(memory),
      ...cypherRoutes(graph, config.cypher.rows),
      ...executionRoutes(execution),
    ],
    registry,
    health: () =>
      checkHealth({ version, folders, config, readers, jobs, record, graph, neo4j, embedder, active }),
    async begin() {
      embedder?.begin();
      const forgotten = memory.finishForgetting().catch((error) => {
        if (!closing) logger.warn('forgetting is not finished', { error });
      });
      if (record.recoveredNow)
        void graph.rebuild().catch((error) => logger.warn('the graph is not made again', { error }));
      if (record.recoveredNow || configured.size > 0)
        jobs.refresh({ full: record.recoveredNow }, 'core-context').catch(() => {});
      await forgotten;
    },
    broken: Promise.race([damaged, writer.ended, readers.ended, ...(active === null ? [] : [active.lost])]),
    async close() {
      closing = true;
      await jobs.close();
      await embedder?.close();
      await graph.close();
      await active?.close();
      await readers.close();
      await writer.close();
      record.close();
    },
  };
}

/** null where no embeddings model is configured. */
function embedderFor(
  { embeddings }: ContextConfig,
  { secrets }: Folders,
  parts: { readers: Readers; writer: Writer; logger: Logger },
): Embedder | null {
  if (embeddings === null) return null;
  const { credential = null } = embeddings;
  return new Embedder({ ...parts, client: new EmbeddingsClient({ ...embeddings, credential, secrets }) });
}

/** null where there is none, or nothing in it. */
function neo4jPassword({ neo4j }: ContextConfig, { secrets }: Folders): string | null {
  if (neo4j === null) return null;
  try {
    return readSmallFile(join(secrets, neo4j.password_file)).trim() || null;
  } catch {
    return null;
  }
}

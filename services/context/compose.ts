import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSettings } from '#kit/config/settings.ts';
import type { Health } from '#kit/contracts/health.ts';
import { environment } from '#kit/environment.ts';
import { messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { mirrorFolder } from '#kit/git/mirror-folder.ts';
import { Probe } from '#kit/health/probe.ts';
import type { Route } from '#kit/http/route.ts';
import type { Logger } from '#kit/log.ts';
import { readReleasedSecrets } from '#kit/redaction/secret-finder.ts';
import type { ContextConfig } from './configuration.ts';
import { Execution } from './execution/execution.ts';
import { executionRoutes } from './execution/execution-routes.ts';
import { openGraph } from './graph/open-graph.ts';
import { checkHealth } from './health.ts';
import { adminRoutes } from './http/admin-routes.ts';
import { cypherRoutes } from './http/cypher-routes.ts';
import { nameByForge } from './http/forge-names.ts';
import { graphragRoutes } from './http/graphrag-routes.ts';
import { memoryRoutes } from './http/memory-routes.ts';
import { RefreshJobs } from './http/refresh-jobs.ts';
import { Ingestion } from './ingest/ingestion.ts';
import { Memory } from './memory/memory.ts';
import { recordFolder } from './record/record-path.ts';
import { noteDamage } from './record/recovery.ts';
import { type Readers, Writer } from './store/access.ts';
import { openRecord } from './store/open-store.ts';
import type { Embedder } from './vectors/embedder.ts';

export interface ContextParts {
  readonly folders: Folders;
  readonly config: ContextConfig;
  /** Of the record, which may not be there yet; closed with the service. */
  readonly readers: Readers;
  readonly logger: Logger;
  readonly version: string;
}

/** core-context without its HTTP server. */
export interface ContextService {
  readonly routes: readonly Route[];
  health(): Promise<Health>;
  /** Starts what is done without being asked for: reading the configured repositories. */
  begin(): void;
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
}: ContextParts): Promise<ContextService> {
  const record = openRecord(folders.state, (message) => logger.warn(message));
  if (record.recovery !== null) logger.warn(`a damaged record is set aside: ${record.recovery.set_aside}`);
  const writer = new Writer(record.path, readers);
  const embedder = await embedderFor(config, folders, { readers, writer, logger });
  const memory = new Memory({
    embedder,
    writer,
    readers,
    path: record.path,
    forgetElsewhere: () => graph.dropDeleted(),
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
    async rebuild(progress, signal) {
      const { rebuildAll } = await import('./rebuild.ts');
      const historyCommits = config.ingestion.history_commits;
      return rebuildAll({ writer, readers, graph, historyCommits, progress, signal });
    },
    afterwards: () => memory.link(),
    logger,
  });

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
        async check() {
          const { checkAll } = await import('./check.ts');
          return checkAll(record.path, graph);
        },
        nameOf: (path) => (configured.has(path) ? Promise.resolve(null) : nameByForge(path, folders)),
        mirrorOf: (repository) => mirrorFolder(folders.state, repository),
      }),
      ...graphragRoutes(readers),
      ...memoryRoutes(memory),
      ...cypherRoutes(graph, config.cypher.rows),
      ...executionRoutes(execution),
    ],
    health: () => checkHealth({ version, folders, config, readers, jobs, record, graph, neo4j, embedder }),
    begin() {
      embedder?.begin();
      void memory.finishForgetting().catch((error) => {
        if (!closing) logger.warn('forgetting is not finished', { error });
      });
      if (record.recoveredNow)
        void graph.rebuild().catch((error) => logger.warn('the graph is not made again', { error }));
      if (!record.recoveredNow && Object.keys(config.repositories).length === 0) return;
      jobs.refresh({ full: record.recoveredNow }, 'core-context').catch(() => {});
    },
    broken: Promise.race([damaged, writer.ended, readers.ended]),
    async close() {
      closing = true;
      await jobs.close();
      await embedder?.close();
      await graph.close();
      await readers.close();
      await writer.close();
      record.close();
    },
  };
}

/** null where no embeddings model is configured. */
async function embedderFor(
  { embeddings }: ContextConfig,
  { secrets }: Folders,
  parts: { readers: Readers; writer: Writer; logger: Logger },
): Promise<Embedder | null> {
  if (embeddings === null) return null;
  const { credential = null } = embeddings;
  const [{ Embedder }, { EmbeddingsClient }] = await Promise.all([
    import('./vectors/embedder.ts'),
    import('./vectors/embeddings-client.ts'),
  ]);
  return new Embedder({ ...parts, client: new EmbeddingsClient({ ...embeddings, credential, secrets }) });
}

/** null where there is none, or nothing in it. */
function neo4jPassword({ neo4j }: ContextConfig, { secrets }: Folders): string | null {
  if (neo4j === null) return null;
  try {
    return readFileSync(join(secrets, neo4j.password_file), 'utf8').trim() || null;
  } catch {
    return null;
  }
}

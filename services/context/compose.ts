import type { CheckReply } from '#kit/contracts/context/status.ts';
import type { Health } from '#kit/contracts/health.ts';
import { messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import type { Route } from '#kit/http/route.ts';
import type { Logger } from '#kit/log.ts';
import type { ContextConfig } from './configuration.ts';
import { Execution } from './execution/execution.ts';
import { executionRoutes } from './execution/execution-routes.ts';
import { checkHealth } from './health.ts';
import { adminRoutes } from './http/admin-routes.ts';
import { graphragRoutes } from './http/graphrag-routes.ts';
import { memoryRoutes } from './http/memory-routes.ts';
import { RefreshDesk } from './http/refresh-desk.ts';
import { Ingestion } from './ingest/ingestion.ts';
import { Memory } from './memory/memory.ts';
import { openRecord, recordFolder } from './record/open-record.ts';
import { Readers } from './record/readers.ts';
import type { Rebuilt } from './record/rebuild-text.ts';
import { noteDamage } from './record/recovery.ts';
import { Writer } from './record/writer.ts';

export interface ContextParts {
  readonly folders: Folders;
  readonly config: ContextConfig;
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
  logger,
  version,
}: ContextParts): Promise<ContextService> {
  const record = openRecord(folders.state, (message) => logger.warn(message));
  if (record.recovery !== null) logger.warn(`a damaged record is set aside: ${record.recovery.set_aside}`);
  const writer = new Writer(record.path);
  const readers = new Readers(record.path);
  const memory = new Memory({ writer, readers, path: record.path });
  const execution = new Execution({ writer, readers, memory });
  const ingestion = new Ingestion({ writer, readers, config });

  const desk = new RefreshDesk({
    ingestion,
    rebuild: rebuildAll,
    afterwards: () => memory.link(),
    logger,
  });

  async function rebuildAll(
    progress: (now: { what: string; done: number; total: number; path: null }) => void,
    signal: AbortSignal,
  ): Promise<string[]> {
    const { texts } = await readers.ask('countRecord', null);
    let done = 0;
    for (let after = 0; ; ) {
      signal.throwIfAborted();
      const next: Rebuilt = await writer.run('rebuildTexts', { after, milliseconds: 20 }, 'normal');
      if (next === null) break;
      done += next.done;
      after = next.last;
      progress({ what: 'text index', done, total: texts, path: null });
    }
    await writer.run('rebuildMemoryIndex', null, 'normal');
    return ['text index', 'memory index'];
  }

  async function check(): Promise<CheckReply> {
    const started = performance.now();
    const own = new Readers(record.path, 1);
    try {
      const found = await own.ask('checkRecord', null);
      const ok = found.damage.length === 0 && found.orphans === 0;
      return {
        ok,
        record: { damage: [...found.damage], orphans: found.orphans, counts: { ...found.counts } },
        graph: { engine: 'none', ok: true, detail: '', differences: [] },
        took_ms: Math.round(performance.now() - started),
      };
    } finally {
      await own.close();
    }
  }

  const damaged = Promise.race([writer.damaged, readers.damaged]).then((error) => {
    noteDamage(recordFolder(folders.state), messageOf(error));
    return error;
  });

  return {
    routes: [
      ...adminRoutes({ desk, ingestion, check }),
      ...graphragRoutes(readers),
      ...memoryRoutes(memory),
      ...executionRoutes(execution),
    ],
    health: () => checkHealth({ version, folders, config, readers, desk, record }),
    begin() {
      void memory.finishForgetting().catch((error) => logger.warn('forgetting is not finished', { error }));
      if (!record.recoveredNow && Object.keys(config.repositories).length === 0) return;
      desk.refresh({ full: record.recoveredNow }, 'core-context').catch(() => {});
    },
    broken: Promise.race([damaged, writer.ended, readers.ended]),
    async close() {
      await desk.close();
      await readers.close();
      await writer.close();
      record.close();
    },
  };
}

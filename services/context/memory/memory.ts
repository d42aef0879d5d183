import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type {
  ForgetReply,
  ForgetRequest,
  ImportReply,
  LookupReply,
  LookupRequest,
  MemoryDetail,
  OutcomeReply,
  OutcomeRequest,
  RecordReply,
  RecordRequest,
} from '#kit/contracts/context/memory.ts';
import { defaultLimit, memoryLayers } from '#kit/contracts/context/vocabulary.ts';
import { InvalidInput } from '#kit/errors.ts';
import type { RecordReader, RecordWriter } from '../record/calls.ts';
import type { Embedder } from '../vectors/embedder.ts';
import { importLines } from './import-lines.ts';
import { masked } from './mask-secrets.ts';
import type { memoryCommands } from './memory-commands.ts';
import type { memoryQueries } from './memory-queries.ts';
import { prepareRecording, utc } from './prepare-recording.ts';

const linesAtOnce = 500;

export interface MemoryOptions {
  readonly writer: RecordWriter<typeof memoryCommands>;
  readonly readers: RecordReader<typeof memoryQueries>;
  /** Of the SQLite file. */
  readonly path: string;
  /** Removes what was forgotten from copies of the record too; rejects where that cannot be done now. */
  readonly forgetElsewhere?: () => Promise<void>;
  /** null: memories are found by their words alone. */
  readonly embedder?: Pick<Embedder, 'model' | 'queryVector' | 'wake'> | null;
}

/**
 * The memory's three layers. Made with `new Memory({ writer, readers, path })`; call `finishForgetting` on start and `link` after
 * an ingestion. Methods take decoded requests (kit/contracts/context/memory.ts), and every write is durable when it resolves.
 */
export class Memory {
  readonly #options: MemoryOptions;

  constructor(options: MemoryOptions) {
    this.#options = options;
  }

  /**
   * @throws InvalidInput naming members that do not fit; Refused (`entity_unknown`); Conflict (`memory_key_taken`,
   * `memory_place_taken`)
   */
  async record(request: RecordRequest): Promise<RecordReply> {
    const recorded = await this.#options.writer.run('recordMemory', prepareRecording(request), 'full');
    this.#options.embedder?.wake();
    return recorded;
  }

  async lookup(request: LookupRequest): Promise<LookupReply> {
    const started = performance.now();
    const { query, layer, limit = defaultLimit, about, as_of, session, source } = request;
    const { embedder, readers } = this.#options;
    const vector = (await embedder?.queryVector(query)) ?? null;
    const reply = await readers.ask('lookUpMemories', {
      query,
      limit,
      layer: memoryLayers.find((one) => one === layer) ?? null,
      about: about ?? null,
      sessions: session == null ? null : [session].flat(),
      source: source ?? null,
      as_of: utc(as_of),
      vector: vector && { model: embedder!.model, vector },
    });
    return { ...reply, took_ms: Math.round((performance.now() - started) * 100) / 100 };
  }

  /** @throws NotFound (`memory_not_found`, `memory_forgotten`) */
  read(id: string): Promise<MemoryDetail> {
    return this.#options.readers.ask('readMemory', id);
  }

  /** @throws NotFound (`memory_not_found`); Refused (`memory_not_procedural`) */
  outcome(request: OutcomeRequest): Promise<OutcomeReply> {
    return this.#options.writer.run(
      'recordMemoryOutcome',
      { ...request, at: new Date().toISOString() },
      'full',
    );
  }

  /**
   * Removes for good, from the files too.
   * @param by who asks, kept beside what was forgotten
   * @throws InvalidInput unless one of id and source is named; NotFound (`memory_not_found`)
   */
  async forget({ id, source, reason }: ForgetRequest, by: string): Promise<ForgetReply> {
    const name = id ?? source;
    if (name == null || (id != null && source != null)) {
      const detail = `${name == null ? 'names neither' : 'names both'} id and source: must name one of them`;
      throw new InvalidInput('invalid_input', `the body: ${detail}`, { errors: [{ pointer: '', detail }] });
    }
    const asked_for = id == null ? 'source' : 'id';
    const forgotten = await this.#options.writer.run(
      'forgetMemories',
      { asked_for, name: masked(name).text, by, reason: reason == null ? null : masked(reason).text },
      'full',
    );
    return { ...forgotten, wiped: await this.finishForgetting() };
  }

  /** Wipes what a forgetting that was cut off left in the log. @returns whether nothing is left */
  async finishForgetting(): Promise<boolean> {
    const until = new Date().toISOString();
    if (!(await this.#options.readers.ask('hasUnwiped', null))) return true;
    if (!(await wipeLog(this.#options.path))) return false;
    try {
      await this.#options.forgetElsewhere?.();
    } catch {
      // Tried again with the next forgetting, and at the next start.
      return false;
    }
    await this.#options.writer.run('markWiped', { until }, 'full');
    return true;
  }

  /** All that is remembered as JSON Lines, oldest first, each line with its end. */
  async *exportAll(): AsyncGenerator<string> {
    const order = await this.#options.readers.ask('memoryOrder', null);
    for (let from = 0; from < order.length; ) {
      const { lines, taken } = await this.#options.readers.ask(
        'memoryLines',
        order.slice(from, from + linesAtOnce),
      );
      for (const line of lines) yield `${line}\n`;
      from += taken;
    }
  }

  /**
   * Brings in an export. Nothing of it is, unless every line can be read; what is there stays as it is, so that importing again
   * changes nothing.
   * @param chunks text in pieces of any length
   * @throws InvalidInput (`memory_import_invalid`) with a pointer `/<line>` for each line that cannot be read; what stops an import
   * midway says how many lines were done
   */
  importAll(
    chunks: AsyncIterable<string> | Iterable<string>,
    { force = false }: { readonly force?: boolean } = {},
  ): Promise<ImportReply> {
    return importLines(chunks, (lines) =>
      this.#options.writer.run('importMemories', { lines, force }, 'full'),
    );
  }

  /** Joins memories to entities that were not known when they were recorded. @returns how many joins were made */
  async link(): Promise<number> {
    for (let joined = 0; ; ) {
      const now = await this.#options.writer.run('linkMemories', null, 'normal');
      if (now === 0) return joined;
      joined += now;
    }
  }
}

/**
 * Empties the record's write-ahead log, in which older pages still have what was deleted. In a thread with a connection of its own,
 * since it waits for readers.
 * @returns false where somebody read for so long
 */
async function wipeLog(path: string, seconds = 5): Promise<boolean> {
  const worker = new Worker(new URL('./wipe-thread.ts', import.meta.url), { workerData: { path, seconds } });
  try {
    const [empty] = (await once(worker, 'message')) as [boolean];
    return empty;
  } finally {
    await worker.terminate();
  }
}

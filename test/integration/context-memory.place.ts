import { RecordRequest } from '#kit/contracts/context/memory.ts';
import { decode } from '#kit/decode.ts';
import { Memory } from '../../services/context/memory/memory.ts';
import type { OpenRecord } from '../../services/context/record/open-record.ts';
import { openRecord, Readers, Writer } from '../../services/context/store/access.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';

/** A memory on a record of its own, as the service has it. */
export interface MemoryPlace {
  readonly memory: Memory;
  readonly writer: Writer;
  readonly readers: Readers;
  readonly record: OpenRecord;
  readonly state: string;
  /** Decodes as the service does, then records. */
  remember(request: Record<string, unknown>): ReturnType<Memory['record']>;
  texts(query: string, more?: Record<string, unknown>): Promise<string[]>;
  lines(): Promise<string[]>;
  close(): Promise<void>;
}

export function openMemory(state = temporaryFolder()): MemoryPlace {
  const record = openRecord(state);
  const writer = new Writer(record.path);
  const readers = new Readers(record.path);
  const memory = new Memory({ writer, readers, path: record.path });
  return {
    memory,
    writer,
    readers,
    record,
    state,
    remember: async (request) => memory.record(decode(RecordRequest, request, 'the body')),
    async texts(query, more = {}) {
      const { results } = await memory.lookup({ query, ...more });
      return results.map(({ text }) => text);
    },
    async lines() {
      const lines: string[] = [];
      for await (const line of memory.exportAll()) lines.push(line);
      return lines;
    },
    async close() {
      await writer.close();
      await readers.close();
      record.close();
    },
  };
}

import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { codeOf } from '#kit/errors.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { Memory } from '../memory/memory.ts';
import type { OpenRecord } from '../record/open-record.ts';
import { openRecord, Readers, Writer } from './access.ts';

const pageBytes = 4_096;

describe('The readers of a record whose pages are damaged', () => {
  let record: OpenRecord;
  let readers: Readers;

  beforeEach(async () => {
    record = openRecord(temporaryFolder());
    const writer = new Writer(record.path);
    readers = new Readers(record.path, 1);
    const memory = new Memory({ writer, readers, path: record.path });
    const textOf = (n: number) => `Number ${n} spoke of ${'a word that nobody else says '.repeat(20)}${n}.`;
    await Promise.all(
      Array.from({ length: 300 }, (_, n) => memory.record({ layer: 'semantic', content: textOf(n) })),
    );
    await readers.close();
    await writer.close();
    const bytes = readFileSync(record.path);
    for (let page = 20; (page + 1) * pageBytes < bytes.length; page += 2)
      bytes.fill(0xab, page * pageBytes, (page + 1) * pageBytes);
    writeFileSync(record.path, bytes);
    readers = new Readers(record.path, 1);
  });

  afterEach(async () => {
    await readers.close();
    record.close();
  });

  it('say so each time, so that the next start rebuilds it', async () => {
    const damaged = readers.damaged;
    const lookup = {
      query: 'word',
      limit: 50,
      layer: null,
      about: null,
      sessions: null,
      source: null,
      as_of: null,
      vector: null,
    };
    for (let asked = 0; asked < 3; asked++) {
      const answer = await readers.ask('lookUpMemories', lookup).catch((error: unknown) => error);
      expect(codeOf(answer)).to.equal('record_damaged');
    }
    expect(codeOf(await damaged)).to.equal('record_damaged');
  });
});

import { expect } from 'chai';
import { makeRepository } from '../fixtures/repositories/repository.ts';
import { type IngestPlace, openIngestPlace } from './context-ingest.place.ts';

const good = 'export function good() { return 1; }\n';
const breaking = '// This breaks the parser.\nexport function lost() { return 2; }\n';

describe('Ingesting with a parser that breaks', () => {
  let place: IngestPlace;
  beforeEach(() => {
    const thread = new URL('./context-ingest.breaking-thread.ts', import.meta.url);
    place = openIngestPlace(undefined, { thread });
  });
  afterEach(() => place.close());

  it('goes on in a new thread each time, and reads as text what broke it', async () => {
    const repository = makeRepository({
      'a.ts': good,
      'b.ts': breaking,
      'c.ts': `${breaking}// And another.\n`,
      'd.ts': good.replace('good', 'last'),
    });
    const result = await place.refresh(repository.dir);
    expect(result).to.deep.include({ files: 4, symbols: 2 });
    expect(place.nodes('file')).to.deep.equal(['file:a.ts', 'file:b.ts', 'file:c.ts', 'file:d.ts']);
    expect(place.nodes('symbol')).to.deep.equal(['symbol:a.ts#good', 'symbol:d.ts#last']);
    const again = await place.refresh(repository.dir);
    expect(again).to.deep.include({ read: 0, unchanged: 4 });
  });

  it('ends when its thread does, says so, and the next refresh does the rest', async () => {
    const repository = makeRepository({ 'a.ts': good, 'b.ts': `// This ends the thread.\n${good}` });
    const [ended] = await place.ingestion.refresh({ repositories: [{ name: 'r', path: repository.dir }] });
    expect(ended).to.deep.equal({
      repository: 'r',
      error: { code: 'ingestion_ended', detail: 'the thread that ingested r ended with 3' },
    });
    repository.commit({ 'b.ts': good.replace('good', 'mended') });
    expect(await place.refresh(repository.dir)).to.deep.include({ files: 2, symbols: 2 });
    expect(place.nodes('symbol')).to.deep.equal(['symbol:a.ts#good', 'symbol:b.ts#mended']);
  });
});

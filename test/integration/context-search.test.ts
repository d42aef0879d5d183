import { join } from 'node:path';
import { expect } from 'chai';
import type { SearchResult } from '#kit/contracts/context/search.ts';
import { Ingestion } from '../../services/context/ingest/ingestion.ts';
import { openForWriting } from '../../services/context/record/connection.ts';
import { Readers, Writer } from '../../services/context/store/access.ts';
import { migrate } from '../../services/context/store/schema.ts';
import { makeRepository, type TestRepository } from '../fixtures/repositories/repository.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';

const name = 'demo/hello';

interface Scene {
  refresh(repository: TestRepository, commit?: string): Promise<void>;
  search(query: string, limit?: number): Promise<SearchResult[]>;
}

describe('Search over an ingested repository', () => {
  let scene: Scene;
  let close: () => Promise<void>;

  beforeEach(() => {
    const path = join(temporaryFolder(), 'record.sqlite');
    const db = openForWriting(path);
    migrate(db);
    db.close();
    const [writer, readers] = [new Writer(path), new Readers(path)];
    const config = { repositories: {}, ingestion: { max_file_bytes: 1_000_000, history_commits: 100 } };
    const ingestion = new Ingestion({ writer, readers, config, configFile: 'context.json' });
    scene = {
      async refresh({ dir }, commit) {
        const repositories = [{ name, path: dir, commit }];
        const [outcome] = await ingestion.refresh({ repositories, full: false });
        expect(outcome).to.not.have.property('error');
      },
      search: (query, limit = 10) => {
        const everywhere = { kinds: undefined, repository: undefined, as_of: undefined };
        return readers.ask('search', { query, limit, ...everywhere });
      },
    };
    close = async () => {
      await readers.close();
      await writer.close();
    };
  });

  afterEach(() => close());

  const paths = async (query: string) => (await scene.search(query)).map(({ path }) => path);
  const changesIn = (result: SearchResult | undefined) =>
    result?.why.edges.filter(({ kind }) => kind === 'changed_by').map(({ from }) => from) ?? [];

  it('finds symbols by their words, each file once, with the lines that matched', async () => {
    const source = [
      'import { format } from "./format.ts";',
      '',
      '/** Says hello. */',
      'export function greetStranger(name) {',
      '  return format(name || "stranger");',
      '}',
      '',
      'export function farewell(name) {',
      '  return "Goodbye, stranger";',
      '}',
    ].join('\n');
    const files = {
      'src/greet.ts': source,
      'src/format.ts': 'export function format(text) { return text.trim(); }',
    };
    await scene.refresh(makeRepository({ ...files, 'README.md': '# Hello\n\nA greeting program.\n' }));
    const results = await scene.search('greet a stranger');
    expect(results[0]).to.include({
      path: 'src/greet.ts',
      kind: 'symbol',
      title: 'greetStranger',
      repository: name,
    });
    expect(results[0]!.start_line).to.be.within(3, 4);
    expect(results[0]!.end_line).to.equal(6);
    expect(results[0]!.snippet).to.include('greetStranger');
    const found = results.map(({ path }) => path);
    expect(new Set(found).size).to.equal(found.length);
    const format = results.find(({ path }) => path === 'src/format.ts');
    expect(format?.why.edges.map(({ kind }) => kind)).to.include('imports');
  });

  it('finds what is in no symbol of a file', async () => {
    const tests = Array.from({ length: 40 }, (_, nth) => `it("does thing ${nth}", () => check(${nth}));`);
    tests.splice(30, 0, 'it("survives a marmalade overflow", () => check(0));');
    const helper = 'function check(number) {\n  return number;\n}\n';
    await scene.refresh(makeRepository({ 'test/things.test.ts': `${helper}${tests.join('\n')}\n` }));
    const [first] = await scene.search('marmalade overflow');
    expect(first).to.include({ path: 'test/things.test.ts' });
    expect(first!.snippet).to.include('survives a marmalade overflow');
  });

  it('learns what commits said of the files they touched, and nothing of later ones', async () => {
    const repository = makeRepository({ 'a.txt': 'one', 'b.txt': 'two', 'c.txt': 'three' });
    const first = repository.commit({ 'a.txt': 'four' }, 'Stop the flux capacitor from overheating');
    const second = repository.commit({ 'b.txt': 'five' }, 'Oil the hinges\n\nThe flux door squeaked.');
    await scene.refresh(repository, first);
    expect(await paths('flux')).to.deep.equal(['a.txt']);
    await scene.refresh(repository, second);
    expect(await paths('flux')).to.have.members(['a.txt', 'b.txt']);
    expect(changesIn((await scene.search('hinges'))[0])).to.deep.equal([`commit:${name}@${second}`]);
    await scene.refresh(repository, first);
    expect(await paths('hinges')).to.deep.equal([]);
  });

  it('keeps the history of a file that is renamed', async () => {
    const text = Array.from({ length: 20 }, (_, nth) => `line ${nth}`).join('\n');
    const repository = makeRepository({ 'old.txt': text });
    await scene.refresh(repository, repository.commit({ 'old.txt': `${text}!` }, 'Calibrate the sextant'));
    repository.git('mv', 'old.txt', 'new.txt');
    await scene.refresh(repository, repository.commit({}, 'Move it'));
    expect(await paths('sextant')).to.deep.equal(['new.txt']);
  });

  it('no longer finds what was deleted', async () => {
    const repository = makeRepository({
      'gone.ts': 'export const marmalade = 1;',
      'stays.ts': 'export const jam = 1;',
    });
    await scene.refresh(repository);
    expect(await paths('marmalade')).to.deep.equal(['gone.ts']);
    repository.commit({ 'gone.ts': null }, 'Tidy');
    await scene.refresh(repository);
    expect(await paths('marmalade')).to.deep.equal([]);
  });
});

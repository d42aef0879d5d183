import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import fc from 'fast-check';
import { SearchRequest, SearchResult } from '#kit/contracts/context/search.ts';
import { decode } from '#kit/decode.ts';
import { GraphRecord, type NodeInput } from '../record/graph-record.ts';
import { nodeId } from '../record/node-id.ts';
import { migrate } from '../store/schema.ts';
import { learnChanges } from './history.ts';
import { weights } from './ranking/text-hits.ts';
import { search } from './search.ts';
import { indexText } from './text-index.ts';

const repository = 'local/demo/hello';
const early = '2026-01-01T00:00:00.000Z';
const late = '2026-06-01T00:00:00.000Z';

class Scene {
  readonly db = new DatabaseSync(':memory:');
  readonly record: GraphRecord;

  constructor() {
    migrate(this.db);
    this.record = new GraphRecord(this.db);
  }

  add(node: Omit<NodeInput, 'label' | 'valid_from'> & { valid_from?: string }, body: string): number {
    const row = this.record.putNode({ label: 'CoreEntity', valid_from: early, ...node });
    indexText(this.record, row, { title: node.title, path: node.path ?? null, body });
    return row;
  }

  repository(name = repository): void {
    this.add({ id: nodeId.repository(name), kind: 'repository', title: name, repository: name }, '');
  }

  file(path: string, body: string, name = repository): number {
    const title = path.split('/').at(-1)!;
    return this.add({ id: nodeId.file(name, path), kind: 'file', title, repository: name, path }, body);
  }

  symbol(path: string, title: string, lines: readonly [number, number], body: string): number {
    const [start_line, end_line] = lines;
    const id = nodeId.symbol(repository, path, title);
    return this.add({ id, kind: 'symbol', title, repository, path, start_line, end_line }, body);
  }

  relate(from: number, kind: string, to: number, weight = 1): void {
    this.record.putEdge({ from, to, type: 'CORE_RELATION', kind, weight, valid_from: early });
  }

  search(query: string, request: Partial<SearchRequest> = {}): SearchResult[] {
    const results = search(this.db, decode(SearchRequest, { query, ...request }, 'the request'));
    return results.map((result) => decode(SearchResult, result, 'a result'));
  }

  paths(query: string, request: Partial<SearchRequest> = {}): (string | null)[] {
    return this.search(query, request).map(({ path }) => path);
  }
}

/** A small project whose files have something in common, as files have. */
function project(): Scene {
  const scene = new Scene();
  scene.repository();
  const greeting =
    'export function greetStranger(name) {\n  if (name === "") return "Hello, stranger";\n  return hello(name);\n}';
  scene.file('src/greeter.ts', `import { logLine } from './log.ts';\n\n${greeting}\n`);
  scene.symbol('src/greeter.ts', 'greetStranger', [3, 6], greeting);
  const log = 'export function logLine(text) {\n  process.stderr.write(text);\n}';
  scene.file('src/log.ts', log);
  scene.symbol('src/log.ts', 'logLine', [1, 3], log);
  scene.file('src/read-tree.ts', 'export class TreeReader {\n  readTree(root) { return walk(root); }\n}');
  scene.symbol('src/read-tree.ts', 'TreeReader.readTree', [2, 2], 'readTree(root) { return walk(root); }');
  scene.file('test/greeter.test.ts', 'it("says hello to a stranger", () => greetStranger(""))');
  scene.file('docs/colours.md', '# Colours\n\nThe terminal shows red, green and blue.');
  scene.add(
    {
      id: nodeId.issue(repository, 7),
      kind: 'issue',
      title: 'Colours are wrong on a light terminal',
      repository,
    },
    'Yellow on white cannot be read.',
  );
  return scene;
}

describe('Search', () => {
  it('finds a file once, and shows its best part with its lines and what matched', () => {
    const scene = project();
    const [first, ...others] = scene.search('greet a stranger without a name');
    expect(first).to.include({
      id: nodeId.symbol(repository, 'src/greeter.ts', 'greetStranger'),
      kind: 'symbol',
      path: 'src/greeter.ts',
      start_line: 3,
      end_line: 6,
      score: 1,
    });
    expect(first!.snippet).to.include('Hello, stranger');
    expect(first!.why.terms).to.include.members(['stranger', 'greet', 'name']);
    expect(first!.why.text).to.be.within(0, 1);
    expect(others.map(({ path }) => path))
      .to.include('test/greeter.test.ts')
      .and.not.include('src/greeter.ts');
  });

  for (const query of [
    'readTree',
    'read_tree',
    'read-tree.ts',
    'src/read-tree.ts:2:3',
    'TreeReader.readTree',
    'reading trees',
    '    at TreeReader.readTree (file:///app/src/read-tree.ts:2:3)',
    'what does `readTree` return?',
  ]) {
    it(`finds what ${JSON.stringify(query)} names`, () => {
      expect(project().paths(query)[0]).to.equal('src/read-tree.ts');
    });
  }

  it('finds what has no path', () => {
    const [first] = project().search('yellow terminal is wrong');
    expect(first).to.include({ kind: 'issue', path: null, title: 'Colours are wrong on a light terminal' });
  });

  it('finds nothing for what is not there', () => {
    expect(project().search('quaternion')).to.deep.equal([]);
    expect(project().search('🎉 -- ""')).to.deep.equal([]);
    expect(project().search('the of and')).to.deep.equal([]);
  });

  it('gives the kinds that are asked for, each thing by itself', () => {
    const results = project().search('greet stranger log line', { kinds: ['symbol'] });
    expect(results.map(({ title }) => title)).to.have.members(['greetStranger', 'logLine']);
    expect(
      project()
        .search('colours', { kinds: ['issue'] })
        .map(({ kind }) => kind),
    ).to.deep.equal(['issue']);
  });

  it('keeps to a repository, by its name or the end of it', () => {
    const scene = project();
    scene.repository('local/other/place');
    scene.file('greet.ts', 'greet every stranger', 'local/other/place');
    expect(scene.paths('stranger', { repository: 'other/place' })).to.deep.equal(['greet.ts']);
    expect(scene.paths('stranger', { repository })).to.not.include('greet.ts');
    expect(scene.paths('stranger')).to.include('greet.ts');
    expect(() => scene.search('stranger', { repository: 'no/where' }))
      .to.throw("no repository 'no/where'")
      .with.property('code', 'repository_unknown');
    expect(() => scene.search('stranger', { repository: 'lace' })).to.throw("no repository 'lace'");
  });

  it('finds in a repository what it found before another one was read, whatever that holds', () => {
    const word = fc.constantFrom('zebra', 'greeting', 'parser', 'hello', 'colour', 'stream', 'reader');
    const words = fc.array(word, { minLength: 1, maxLength: 5 });
    const files = fc.array(words, { minLength: 1, maxLength: 12 });
    const other = 'local/other/place';
    const add = (scene: Scene, name: string, texts: readonly (readonly string[])[]) => {
      scene.repository(name);
      for (const [nth, text] of texts.entries()) scene.file(`${text[0]}/${nth}.ts`, text.join(' '), name);
      for (const [nth, text] of texts.entries()) {
        const change = { commit: `${name}${nth}`, at: early, message: text.join(' '), renames: [] };
        const paths = [`${text[0]}/${nth}.ts`];
        learnChanges(scene.record, {
          repository: name,
          changes: [{ ...change, paths }],
          replace: false,
          upTo: null,
        });
      }
    };
    fc.assert(
      fc.property(files, files, words, (own, others, query) => {
        const scene = new Scene();
        add(scene, repository, own);
        const request = decode(SearchRequest, { query: query.join(' '), repository, limit: 50 }, 'it');
        // Few matches are enough here, as three hundred are in a large repository.
        const found = () =>
          search(scene.db, request, { ...weights, matches: 3 })
            .map(({ id }) => id)
            .sort();
        const before = found();
        add(scene, other, others);
        expect(found()).to.deep.equal(before);
        scene.db.close();
      }),
      { numRuns: 60 },
    );
  });

  it('finds files with a frequent word though a rare word of the query stands only in what is over', () => {
    const scene = project();
    for (let nth = 0; nth < 700; nth++) scene.file(`greeting-${nth}.ts`, 'greeting');
    scene.record.closeNode(scene.file('gone.ts', 'zebra'), late);
    expect(scene.search('zebra greeting')).to.have.lengthOf(10);
    expect(scene.search('zebra greeting', { as_of: '2026-03-01T00:00:00Z' })[0]).to.include({
      path: 'gone.ts',
    });
  });

  it('answers as of a time: what was closed before or opened after is not there', () => {
    const scene = project();
    const gone = scene.file('old.ts', 'greet the stranger of old');
    scene.record.closeNode(gone, late);
    scene.add(
      { id: 'file:new', kind: 'file', title: 'new.ts', repository, path: 'new.ts', valid_from: late },
      'stranger',
    );
    expect(scene.paths('stranger')).to.include('new.ts').and.not.include('old.ts');
    const then = scene.paths('stranger', { as_of: '2026-03-01T00:00:00Z' });
    expect(then).to.include('old.ts').and.not.include('new.ts');
    expect(scene.paths('stranger', { as_of: '2020-01-01T00:00:00Z' })).to.deep.equal([]);
  });

  it('still finds what is valid when most of what matches is not', () => {
    const scene = project();
    for (let nth = 0; nth < 500; nth++)
      scene.record.closeNode(scene.file(`gone/${nth}.ts`, 'stranger '.repeat(9)), early);
    expect(scene.paths('stranger')[0]).to.equal('src/greeter.ts');
  });

  it('puts what the whole query names first, whatever else has its words', () => {
    const scene = project();
    for (let nth = 0; nth < 30; nth++)
      scene.file(`notes/${nth}.md`, 'greeter log read tree '.repeat(20) + (nth === 3 ? ' zanzibar' : ''));
    for (const [query, path] of [
      ['log.ts', 'src/log.ts'],
      ['src/log.ts', 'src/log.ts'],
      ['./src/log.ts', 'src/log.ts'],
      ['logLine', 'src/log.ts'],
      ['TREEREADER.READTREE', 'src/read-tree.ts'],
      ['`logLine`', 'src/log.ts'],
    ] as const) {
      const [first] = scene.search(query);
      expect(first, query).to.include({ path, score: 1 });
      expect(first!.why.named, query).to.not.equal(null);
    }
    const beside = scene.search('log.ts zanzibar').map(({ path, why }) => [path, why.named]);
    expect(beside[0]).to.deep.equal(['src/log.ts', 'log.ts']);
    expect(beside.slice(1)).to.deep.include(['notes/3.md', null]);
  });

  it('leaves a name that many have to the rest of the query', () => {
    const scene = project();
    for (let nth = 0; nth < 8; nth++) scene.file(`part${nth}/index.ts`, nth === 5 ? 'zanzibar' : 'index');
    expect(scene.search('zanzibar index.ts')[0]).to.include({ path: 'part5/index.ts' });
    expect(scene.search('zanzibar index.ts').every(({ why }) => why.named === null)).to.equal(true);
  });

  it('puts the files of a stack trace first, the one called last before the others, each at its line', () => {
    const scene = project();
    for (let nth = 0; nth < 10; nth++) scene.file(`notes/${nth}.md`, 'cannot read properties of undefined');
    scene.file('lib/index.js', 'module.exports = 1');
    const trace = `TypeError: Cannot read properties of undefined
    at process (node:internal/process:7:1)
    at Layer.handle (/app/node_modules/express/lib/index.js:1:1)
    at Layer.handle (/app/node_modules/hello/lib/index.js:1:1)
    at logLine (/home/me/hello/src/log.ts:2:18)
    at greetStranger (/home/me/hello/src/greeter.ts:5:10)
    at walk (/home/me/hello/src/read-tree.ts:1:1)`;
    const found = scene.search(trace);
    expect(found.slice(0, 3).map(({ path, title }) => [path, title])).to.deep.equal([
      ['lib/index.js', 'index.js'],
      ['src/log.ts', 'logLine'],
      ['src/greeter.ts', 'greetStranger'],
    ]);
    expect(found[0]!.why.named).to.equal('/app/node_modules/hello/lib/index.js:1');
    expect(found[1]!.why.named).to.equal('/home/me/hello/src/log.ts:2');
    const symbols = scene.search(trace, { kinds: ['symbol'] });
    expect(symbols.slice(0, 2).map(({ title }) => title)).to.deep.equal(['logLine', 'greetStranger']);
    const python = `Traceback (most recent call last):
  File "/srv/hello/src/greeter.ts", line 4, in main
  File "/srv/hello/src/log.ts", line 2, in log
ValueError: stranger`;
    expect(scene.paths(python).slice(0, 2)).to.deep.equal(['src/log.ts', 'src/greeter.ts']);
  });

  it('finds by its name what has no text: repositories, folders, agents, services, runs', () => {
    const scene = project();
    scene.add({ id: 'agent:bug-fixer', kind: 'agent', title: 'bug-fixer' }, '');
    const bare = (id: string, kind: string, title: string, more: Partial<NodeInput> = {}) =>
      scene.record.putNode({ id, label: 'CoreEntity', kind, title, valid_from: early, ...more });
    bare('service:billing-api', 'service', 'billing-api');
    bare(nodeId.directory(repository, 'src/commands'), 'directory', 'commands', {
      repository,
      path: 'src/commands',
    });
    const run = 'run_0199aabbccddeeff00112233';
    bare(nodeId.run(run), 'run', 'Greet in colours', { repository });
    for (const [query, kind, id] of [
      ['hello', 'repository', 'repo:local/demo/hello'],
      ['demo/hello', 'repository', 'repo:local/demo/hello'],
      ['commands folder', 'directory', `dir:${repository}:src/commands`],
      ['bug fixer', 'agent', 'agent:bug-fixer'],
      ['billing', 'service', 'service:billing-api'],
      [run, 'run', `run:${run}`],
      [run.slice(0, 16), 'run', `run:${run}`],
    ] as const)
      expect(scene.search(query, { kinds: [kind] })[0]?.id, query).to.equal(id);
    expect(scene.search('zebra', { kinds: ['directory', 'repository'] })).to.deep.equal([]);
    for (const id of [`run:${run}`, 'service:billing-api', 'repo:local/demo/hello'])
      expect(scene.search(id)[0]?.id).to.equal(id);
    expect(scene.search('src/commands/')[0]?.kind).to.equal('directory');
  });

  it('brings documents and code to a question, the best in their places', () => {
    const scene = new Scene();
    scene.repository();
    for (let nth = 0; nth < 20; nth++) scene.file(`src/${nth}.ts`, `${'rotate keys; '.repeat(4)} x${nth}`);
    for (const nth of [1, 2, 3, 4]) {
      const [id, path] = [`file:d${nth}`, `docs/guide-${nth}.md`];
      const body = `To rotate the keys, wait; rotate keys, and wait for x${nth}.`;
      scene.add({ id, kind: 'document', title: `guide-${nth}.md`, repository, path }, body);
    }
    const first = (query: string, limit: number) =>
      scene.paths(query, { limit }).map((path) => path!.split('/')[0]);
    const asked = first('How do I rotate keys?', 10);
    expect(asked.slice(0, 7)).to.deep.equal(Array(7).fill('src'));
    expect(asked.slice(7)).to.deep.equal(Array(3).fill('docs'));
    expect(first('Rotate keys', 10)).to.deep.equal(Array(10).fill('src'));
    expect(first('How do I rotate keys?', 24)).to.have.length(24);
    expect(new Set(scene.paths('How do I rotate keys?', { limit: 24 })).size).to.equal(24);
    expect(first('How do I rotate keys?', 4)).to.deep.equal(['src', 'src', 'src', 'docs']);
    expect(first('where is gibberish marmalade', 10)).to.deep.equal([]);
    const scores = scene.search('How do I rotate keys?', { limit: 24 }).map(({ score }) => score);
    expect(scores).to.deep.equal(scores.toSorted((a, b) => b - a));
  });

  it('counts words of the query that a path has, numbers of one digit too', () => {
    const scene = new Scene();
    scene.repository();
    const body = 'register the plugin, then ask it for what it decorates';
    for (let nth = 1; nth <= 4; nth++) scene.file(`test/plugin.${nth}.test.js`, body);
    scene.file('test/decorates.test.js', `${body} ${'plugin '.repeat(12)}`);
    expect(scene.paths('test: plugin 3')[0]).to.equal('test/plugin.3.test.js');
    expect(scene.paths('test: plugin 1')[0]).to.equal('test/plugin.1.test.js');
  });

  it('takes a leading word and a colon for the sort of file and the place that are meant', () => {
    const scene = new Scene();
    scene.repository();
    const body = 'the header is read without its case';
    for (const folder of ['binding', 'render']) {
      scene.file(`${folder}/field.go`, `${body} in ${folder === 'render' ? 'header header ' : ''}fields`);
      scene.file(`${folder}/field_test.go`, `${body} in fields`);
    }
    const [id, path] = ['file:guide', 'docs/guide.md'];
    scene.add(
      { id, kind: 'document', title: 'guide.md', repository, path },
      `${body}, as this explains at length`,
    );
    const first = (query: string) => scene.paths(query)[0];
    expect(first('fix(binding): header without case')).to.match(/^binding\//);
    expect(first('fix(render): header without case')).to.match(/^render\//);
    expect(first('docs: header without case')).to.equal('docs/guide.md');
    expect(first('test(binding): header without case')).to.equal('binding/field_test.go');
  });

  it('finds files of continuous integration and manifests where no word of theirs is in the query', () => {
    const scene = project();
    scene.file('.github/workflows/main.yml', 'jobs: build');
    scene.file('package.json', '{ "private": true }');
    expect(scene.paths('ci: tidy the matrix of platforms')).to.include('.github/workflows/main.yml');
    expect(scene.paths('deps: follow upstream')).to.include('package.json');
    expect(scene.paths('Bumped v9.2.1')).to.deep.equal(['package.json']);
    expect(scene.paths('tidy the matrix of platforms')).to.not.include('.github/workflows/main.yml');
  });

  for (const path of [
    'npm-shrinkwrap.json',
    'requirements-dev.txt',
    'core/thing.gemspec',
    'src/App.csproj',
    'gradle/libs.versions.toml',
    'web/deno.json',
    'Pipfile.lock',
    'go.work',
    'Package.swift',
    'thing.cabal',
  ]) {
    it(`finds ${path} for what is about dependencies`, () => {
      const scene = project();
      scene.file(path, 'zzz');
      for (const query of ['Update deps', 'chore: bump x'])
        expect(scene.paths(query), query).to.include(path);
      expect(scene.paths('tidy the matrix of platforms')).not.to.include(path);
    });
  }

  it('lets no README, changelog or lockfile lead where the query names code, unless it is named', () => {
    const scene = new Scene();
    scene.repository();
    scene.file('src/vault.ts', 'rotate the keys of a safe');
    scene.file(
      'CHANGELOG.md',
      'Rotate the keys of a safe. Rotate keys and lock the safe. Lock keys in a safe.',
    );
    for (let nth = 0; nth < 9; nth++) scene.file(`src/other-${nth}.ts`, 'nothing of that');
    const query = 'rotate keys of a safe';
    expect(scene.paths(query)[0]).to.equal('CHANGELOG.md');
    expect(scene.search(`fix: ${query}`).map(({ path, score }) => [path, score])).to.deep.equal([
      ['src/vault.ts', 1],
      ['CHANGELOG.md', 1],
    ]);
    expect(scene.paths(`docs: ${query}`)[0]).to.equal('CHANGELOG.md');
    expect(scene.paths(`fix: CHANGELOG.md, ${query}`)[0]).to.equal('CHANGELOG.md');
  });

  it('passes scores on along edges, and says so', () => {
    const scene = project();
    const [greeter, log] = ['src/greeter.ts', 'src/log.ts'].map(
      (path) => scene.record.nodeOf(nodeId.file(repository, path))!,
    );
    expect(scene.paths('hello stranger')).to.not.include('src/log.ts');
    scene.relate(greeter!, 'imports', log!);
    const found = scene.search('hello stranger').find(({ path }) => path === 'src/log.ts')!;
    expect(found.why.edges[0]).to.include({
      kind: 'imports',
      from: nodeId.file(repository, 'src/greeter.ts'),
    });
    expect(found.why.text).to.equal(0);
    expect(found.score).to.be.within(0, 0.5);
  });

  it('finds what changes in like words touched, and says which', () => {
    const scene = project();
    const change = { commit: 'c0ffee', at: early, message: 'Limit the flux capacitor', renames: [] };
    learnChanges(scene.record, {
      repository,
      changes: [{ ...change, paths: ['src/log.ts', 'gone.ts'] }],
      replace: true,
      upTo: 'c0ffee',
    });
    const [found] = scene.search('flux capacitors overheat');
    expect(found).to.include({ path: 'src/log.ts' });
    expect(found!.why.edges[0]).to.include({ kind: 'changed_by', from: `commit:${repository}@c0ffee` });
    expect(scene.search('flux capacitors', { as_of: '2025-01-01T00:00:00Z' })).to.deep.equal([]);
  });

  it('replaces the text of a node that is indexed again', () => {
    const scene = project();
    scene.file('src/log.ts', 'now about marmalade');
    expect(scene.paths('marmalade')).to.deep.equal(['src/log.ts']);
    expect(scene.search('stderr', { kinds: ['file'] })).to.deep.equal([]);
  });

  it('shows no control characters and no endless lines', () => {
    const scene = project();
    scene.file(
      'min.js',
      `${'x;'.repeat(50_000)}marmalade\u001b[2J\u202e${'y;'.repeat(50_000)}`.slice(40_000),
    );
    const [found] = scene.search('marmalade');
    expect(found!.snippet)
      .to.include('marmalade')
      .and.not.match(/[\u001b\u202e]/);
    expect(found!.snippet.length).to.be.below(1000);
  });

  it('takes any text for a query, syntax of FTS5 and Cypher among it', () => {
    const scene = project();
    for (const query of [
      'stranger" OR "log',
      'title:stranger NEAR(a, 2)',
      'MATCH (n) DETACH DELETE n',
      '* ^ - + ( ) "',
      'a\0b\ud800',
      "'; DROP TABLE nodes; --",
    ])
      expect(() => scene.search(query), query).to.not.throw();
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }).filter((text) => text.trim() !== ''),
        (query) => {
          scene.search(query);
        },
      ),
      { numRuns: 300 },
    );
    expect(scene.paths('stranger')).to.include('src/greeter.ts');
  });

  it('takes a stack trace of 20,000 characters', () => {
    const frame = (nth: number) => `    at Strange${nth}.call${nth} (/app/lib/strange-${nth}.js:${nth}:1)\n`;
    const trace = Array.from({ length: 500 }, (_, nth) => frame(nth))
      .join('')
      .slice(0, 19_900);
    expect(project().paths(`${trace}    at greetStranger (src/greeter.ts:4:9)`)[0]).to.equal(
      'src/greeter.ts',
    );
  });

  it('gives the same list for the same query', () => {
    const scene = project();
    expect(scene.search('hello stranger log')).to.deep.equal(scene.search('hello stranger log'));
  });
});

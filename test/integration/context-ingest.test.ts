import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type FileContent, makeBareRepository, makeRepository } from '../fixtures/repositories/repository.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { itWith } from '../needs.ts';
import { type IngestPlace, openIngestPlace } from './context-ingest.place.ts';

const sources: Record<string, FileContent> = {
  'README.md': '# Shop\nSee `src/cart.ts` and `Cart.total`.\n\n## Use\nRun it.\n',
  'src/cart.ts':
    "import { priceOf } from './price.ts';\nexport class Cart {\n  total() { return priceOf(1); }\n}\n",
  'src/price.ts': 'export function priceOf(n: number) { return n; }\n',
};

describe('Ingesting a git repository', () => {
  let place: IngestPlace;
  beforeEach(() => {
    place = openIngestPlace();
  });
  afterEach(() => place.close());

  it('makes nodes of its folders, files, symbols and sections, joined by what they say', async () => {
    const repository = makeRepository(sources);
    const result = await place.refresh(repository.dir);
    expect(result).to.deep.include({
      repository: 'r',
      files: 3,
      read: 3,
      unchanged: 0,
      closed: 0,
      symbols: 3,
    });
    expect(result.commit).to.equal(repository.git('rev-parse', 'HEAD'));
    expect(place.nodes()).to.deep.equal([
      'dir:src',
      'file:README.md',
      'file:src/cart.ts',
      'file:src/price.ts',
      'repo',
      'section:README.md#shop',
      'section:README.md#use',
      'symbol:src/cart.ts#Cart',
      'symbol:src/cart.ts#Cart.total',
      'symbol:src/price.ts#priceOf',
    ]);
    expect(place.edges('contains')).to.deep.equal([
      'dir:src -> file:src/cart.ts',
      'dir:src -> file:src/price.ts',
      'file:README.md -> section:README.md#shop',
      'repo -> dir:src',
      'repo -> file:README.md',
      'section:README.md#shop -> section:README.md#use',
    ]);
    expect(place.edges('defines')).to.deep.equal([
      'file:src/cart.ts -> symbol:src/cart.ts#Cart',
      'file:src/price.ts -> symbol:src/price.ts#priceOf',
      'symbol:src/cart.ts#Cart -> symbol:src/cart.ts#Cart.total',
    ]);
    expect(place.edges('imports')).to.deep.equal(['file:src/cart.ts -> file:src/price.ts']);
    expect(place.edges('references')).to.deep.equal([
      'symbol:src/cart.ts#Cart.total -> symbol:src/price.ts#priceOf',
    ]);
    expect(place.edges('mentions')).to.deep.equal([
      'section:README.md#shop -> file:src/cart.ts',
      'section:README.md#shop -> symbol:src/cart.ts#Cart.total',
    ]);
    expect(result.edges).to.equal(6 + 3 + 1 + 1 + 2);
  });

  it('reads nothing again when nothing changed, and all of it when asked to', async () => {
    const { dir } = makeRepository(sources);
    const first = await place.refresh(dir);
    expect(await place.refresh(dir)).to.deep.include({
      read: 0,
      unchanged: 3,
      symbols: 3,
      edges: first.edges,
    });
    expect(await place.refresh(dir, true)).to.deep.include({
      read: 3,
      unchanged: 0,
      symbols: 3,
      edges: first.edges,
    });
  });

  it('reads of a new commit only what changed, and closes what is gone', async () => {
    const repository = makeRepository(sources);
    await place.refresh(repository.dir);
    const commit = repository.commit({
      'src/price.ts': 'export function costOf(n: number) { return n; }\n',
      'lib/new.ts': 'export const added = 1;\n',
      'README.md': null,
    });
    const result = await place.refresh(repository.dir);
    expect(result).to.deep.include({ commit, files: 3, read: 2, unchanged: 1, closed: 1, symbols: 4 });
    expect(place.nodes()).to.deep.equal([
      'dir:lib',
      'dir:src',
      'file:lib/new.ts',
      'file:src/cart.ts',
      'file:src/price.ts',
      'repo',
      'symbol:lib/new.ts#added',
      'symbol:src/cart.ts#Cart',
      'symbol:src/cart.ts#Cart.total',
      'symbol:src/price.ts#costOf',
    ]);
    expect(place.edges('references')).to.deep.equal([]);
    expect(place.edges('mentions')).to.deep.equal([]);
    const dangling = place.db
      .prepare(
        `SELECT count(*) AS n FROM edges e JOIN nodes f ON f.node = e.from_node JOIN nodes t ON t.node = e.to_node
         WHERE e.valid_to IS NULL AND (f.valid_to IS NOT NULL OR t.valid_to IS NOT NULL)`,
      )
      .get() as { n: number };
    expect(dangling.n).to.equal(0);
  });

  it('follows a rename, and opens again what comes back, with the edges from files that did not change', async () => {
    const repository = makeRepository(sources);
    await place.refresh(repository.dir);
    const before = [
      place.nodes(),
      place.edges('references'),
      place.edges('imports'),
      place.edges('mentions'),
    ];
    repository.git('mv', 'src/price.ts', 'src/cost.ts');
    repository.commit({});
    const moved = await place.refresh(repository.dir);
    expect(moved).to.deep.include({ read: 1, unchanged: 2, closed: 1 });
    expect(place.edges('imports')).to.deep.equal([]);
    repository.git('mv', 'src/cost.ts', 'src/price.ts');
    repository.commit({});
    await place.refresh(repository.dir);
    expect([
      place.nodes(),
      place.edges('references'),
      place.edges('imports'),
      place.edges('mentions'),
    ]).to.deep.equal(before);
  });

  it('finds a use in a file that did not change when its symbol appears elsewhere', async () => {
    const repository = makeRepository({ 'a.py': 'from b import make_tea\nmake_tea()\n', 'b.py': 'x = 1\n' });
    await place.refresh(repository.dir);
    expect(place.edges('references')).to.deep.equal([]);
    repository.commit({ 'b.py': 'def make_tea():\n    pass\n' });
    expect(await place.refresh(repository.dir)).to.deep.include({ read: 1, unchanged: 1 });
    expect(place.edges('references')).to.deep.equal(['file:a.py -> symbol:b.py#make_tea']);
  });

  describe('links a use', () => {
    /** From the file that uses: what it leads to, with its weight. */
    async function links(files: Record<string, string>): Promise<string[]> {
      await place.refresh(makeRepository(files).dir);
      return place.edges('references', true).filter((edge) => edge.includes('use.'));
    }

    it('not to a name that the file imports from elsewhere', async () => {
      const found = await links({
        'kit/queue.py':
          'class OwnQueue:\n    def parse_url(self):\n        pass\n\ndef read_all():\n    pass\n',
        'use.py':
          'from kombu import OwnQueue, parse_url as read_all\nimport tools as OtherTools\n\ndef main():\n    OwnQueue()\n    read_all()\n    OtherTools.parse_url()\n',
        'lib/tree.ts': 'export class TreeWalker { walkTree() {} }\nexport function openTree() {}\n',
        'use.ts':
          "import { openTree, TreeWalker } from 'trees';\nimport * as other from 'others';\nexport function main() { openTree(); new TreeWalker(); other.walkTree(); }\n",
        'go.mod': 'module example.org/own\n',
        'pool/pool.go':
          'package pool\n\nfunc ErrorfAll() {}\n\ntype BigPool struct{}\n\nfunc (p *BigPool) DrainAll() {}\n',
        'use.go':
          'package main\n\nimport "other.org/pool"\n\nfunc run() { pool.ErrorfAll(); pool.DrainAll(); BigPool() }\n',
        'Cargo.toml': '[package]\nname = "own-crate"\n',
        'src/lib.rs': 'mod maps;\n',
        'src/maps.rs': 'pub struct HashMap {}\nimpl HashMap { pub fn grow_map(&self) {} }\n',
        'src/use.rs':
          'use std::collections::HashMap;\npub fn main() { HashMap::grow_map(); std::mem::grow_map(); }\n',
      });
      expect(found).to.deep.equal([]);
    });

    it('to what the file or the repository defines under the name that it imports', async () => {
      const found = await links({
        'own/tree.py': 'class Tree:\n    def grow(self):\n        pass\n\ndef plant():\n    pass\n',
        'own/use.py':
          'from own.tree import Tree, plant\nimport own.tree as trees\n\nclass Oak(Tree):\n    def cut(self):\n        self.shake()\n        Tree.grow()\n        plant()\n        trees.plant()\n\n    def shake(self):\n        pass\n',
        'crates/one/Cargo.toml': '[package]\nname = "crate-one"\n',
        'crates/one/src/lib.rs': 'pub fn open_one() {}\n',
        'crates/two/Cargo.toml': '[package]\nname = "two"\n',
        'crates/two/src/use.rs': 'use crate_one::open_one;\npub fn run() { open_one(); }\n',
      });
      expect(found).to.deep.equal([
        'symbol:crates/two/src/use.rs#run -> symbol:crates/one/src/lib.rs#open_one 1',
        'symbol:own/use.py#Oak -> symbol:own/tree.py#Tree 1',
        'symbol:own/use.py#Oak.cut -> symbol:own/tree.py#Tree 1',
        'symbol:own/use.py#Oak.cut -> symbol:own/tree.py#Tree.grow 1',
        'symbol:own/use.py#Oak.cut -> symbol:own/tree.py#plant 1',
        'symbol:own/use.py#Oak.cut -> symbol:own/use.py#Oak.shake 1',
      ]);
    });

    it('of a member of something of unknown type by half a weight, and a name that stands alone to no member', async () => {
      const found = await links({
        'a.py': 'class A:\n    def send_all(self):\n        pass\n    def stop(self):\n        pass\n',
        'b.py': 'class B:\n    def send_all(self):\n        pass\n    def flush_all(self):\n        pass\n',
        'use.py':
          'def main(one, two):\n    one.send_all()\n    two().flush_all(send_all=1)\n    one.stop()\n    flush_all = 1\n',
      });
      expect(found).to.deep.equal([
        'symbol:use.py#main -> symbol:a.py#A.send_all 0.25',
        'symbol:use.py#main -> symbol:b.py#B.flush_all 0.5',
        'symbol:use.py#main -> symbol:b.py#B.send_all 0.25',
      ]);
    });

    it('however many others use the same', async () => {
      const users = Array.from({ length: 230 }, (_, n) => [
        `use.${n}.ts`,
        "import { popular } from './one.ts';\nexport const x = popular;\n",
      ]);
      const found = await links({ 'one.ts': 'export const popular = 1;\n', ...Object.fromEntries(users) });
      expect(found).to.have.length(230);
    });
  });

  it('links after a change the files that it can concern, and asks for no other', async () => {
    const others = Array.from({ length: 40 }, (_, n) => [`other${n}.py`, `def do_other_${n}():\n    pass\n`]);
    const repository = makeRepository({
      ...Object.fromEntries(others),
      'tea.py': 'def make_tea():\n    pass\n\ndef drink_tea():\n    pass\n',
      'use.py': 'from tea import make_tea\n\ndef main():\n    make_tea()\n',
      'page.md': 'See `drink_tea`.\n',
    });
    await place.refresh(repository.dir);
    const linked = async (files: Record<string, string | null>) => {
      place.asked.length = 0;
      repository.commit(files);
      await place.refresh(repository.dir);
      const pages = place.asked.filter(({ name }) => name === 'factsOfFiles');
      return pages.flatMap(({ input }) => (input as { paths: string[] }).paths).sort();
    };
    const tea = 'def make_tea():\n    return 1\n\ndef drink_tea():\n    pass\n';
    expect(await linked({ 'tea.py': tea })).to.deep.equal(['tea.py']);
    expect(await linked({ 'tea.py': tea.replace('make_tea', 'brew_tea') })).to.deep.equal([
      'tea.py',
      'use.py',
    ]);
    expect(place.edges('references')).to.deep.equal([]);
    expect(await linked({ 'tea.py': tea.replace('drink_tea', 'sip_tea') })).to.deep.equal([
      'page.md',
      'tea.py',
      'use.py',
    ]);
    expect(place.edges('references')).to.deep.equal(['symbol:use.py#main -> symbol:tea.py#make_tea']);
    expect(await linked({ 'new.py': 'x = 1\n' })).to.deep.equal(['new.py']);
    expect(await linked({ 'new.py': null, 'make/tea.py': 'x = 1\n' })).to.deep.equal([
      'make/tea.py',
      'use.py',
    ]);
    expect(await linked({ 'tea.py': null })).to.deep.equal(['use.py']);
    expect(await linked({ 'make/__init__.py': '' })).to.have.length(44);
  });

  itWith(['time'], 'comes by one commit after the other to what the last one alone gives', async () => {
    const module = (name: string, body: string) => `class ${name}:\n    def ${body}(self):\n        pass\n`;
    const repository = makeRepository({
      'go.mod': 'module example.org/own\n',
      'pool/pool.go': 'package pool\n\nfunc DrainAll() {}\n',
      'main.go': 'package main\n\nimport "example.org/own/pool"\n\nfunc run() { pool.DrainAll() }\n',
      'a.py': module('First', 'send_all'),
      'use.py':
        'from a import First\n\ndef main(one):\n    First().send_all()\n    one.flush_all()\n    one.send_all()\n',
      'README.md': 'See `a.py`, `b.py`, `First.send_all` and `flush_all`.\n',
    });
    const commits: Record<string, string | Buffer | null>[] = [
      { 'b.py': module('Second', 'flush_all') },
      { 'a.py': `${module('First', 'send_all')}\ndef flush_all():\n    pass\n` },
      { 'b.py': 'def flush_all():\n    pass\n', 'a.py': module('First', 'send_all') },
      { 'go.mod': 'module example.org/other\n' },
      { 'b.py': Buffer.from([0x89, 0, 1]), 'c/d.py': module('Third', 'send_all') },
      { 'b.py': module('Second', 'flush_all'), 'go.mod': 'module example.org/own\n', 'c/d.py': null },
      {
        'deep/er/x.py': 'from ..y import One\n\nOne.grow_all()\n',
        'deep/NOTES.md': 'See `er`, `y.py` and `x`.\n',
      },
      { 'deep/y.py': module('One', 'grow_all'), 'er/z.py': 'import deep.y\nimport os\n' },
      { 'deep/__init__.py': 'from .y import One\n', 'deep/y.py': module('One', 'grow_all'), 'er/z.py': null },
      { 'deep/y.py': null, 'y.py': module('One', 'grow_all'), 'deep/er/x.py': Buffer.from([0]) },
      {
        'm1.py': module('M', 'poll_all'),
        'm2.py': module('M', 'poll_all'),
        'm3.py': module('M', 'poll_all'),
      },
      { 'm4.py': module('M', 'poll_all'), 'poll.py': 'def poll(one):\n    one.poll_all()\n' },
      { 'm4.py': null },
      { 'm3.py': Buffer.from([0]) },
      { 'a.py': null, 'e.py': module('First', 'send_all'), 'main.go': 'package main\n\nfunc run() {}\n' },
      { 'a.py': module('First', 'send_all') + module('First', 'send_all') },
    ];
    for (const files of [{}, ...commits]) {
      repository.commit(files);
      const result = await place.refresh(repository.dir);
      const alone = openIngestPlace();
      const fresh = await alone.refresh(repository.dir);
      for (const kind of ['contains', 'defines', 'imports', 'references', 'mentions', 'changed_with'])
        expect(place.edges(kind, true), kind).to.deep.equal(alone.edges(kind, true));
      expect(place.nodes()).to.deep.equal(alone.nodes());
      const { symbols, edges, files: count, skipped } = result;
      expect({ symbols, edges, files: count, skipped }).to.deep.include({
        symbols: fresh.symbols,
        edges: fresh.edges,
      });
      const { n } = place.db.prepare('SELECT count(*) AS n FROM edges WHERE valid_to IS NULL').get() as {
        n: number;
      };
      expect(edges).to.equal(n);
      await alone.close();
    }
  });

  it('leaves out what is no text of the repository, and says how much of each', async () => {
    const upstream = makeRepository({ 'a.txt': 'x' });
    const repository = makeRepository({
      '.gitignore': 'build/\n*.log\n!keep.log\n',
      'sub/.gitignore': 'local.txt\n',
      'a.txt': 'text\n',
      'keep.log': 'kept\n',
      'error.log': 'ignored\n',
      'build/out.txt': 'ignored\n',
      'sub/local.txt': 'ignored\n',
      'local.txt': 'not ignored here\n',
      'logo.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0, 1]),
      'big.txt': 'x'.repeat(5_000),
      'model.bin': `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 1\n`,
      link: { link: 'a.txt' },
    });
    repository.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', upstream.dir, 'module');
    repository.git('commit', '-q', '-m', 'Add a submodule');
    await place.close();
    place = openIngestPlace(temporaryFolder(), { maxFileBytes: 1_024 });
    const skipped = { binary: 1, too_large: 1, ignored: 3, link: 1, submodule: 1, lfs: 1, unreadable: 0 };
    expect((await place.refresh(repository.dir)).skipped).to.deep.equal(skipped);
    expect(place.nodes('file')).to.deep.equal([
      'file:.gitignore',
      'file:.gitmodules',
      'file:a.txt',
      'file:keep.log',
      'file:local.txt',
      'file:sub/.gitignore',
    ]);
    repository.commit({ 'logo.png': 'now a text\n' });
    const later = await place.refresh(repository.dir);
    expect(later).to.deep.include({ read: 1, files: 7 });
    expect(later.skipped).to.deep.equal({ ...skipped, binary: 0 });
  });

  itWith(['time'], 'does not read a file of 200 MB', async () => {
    const repository = makeRepository({ 'a.txt': 'x\n' });
    writeFileSync(join(repository.dir, 'huge.txt'), Buffer.alloc(200 * 1024 * 1024, 'a\n'));
    repository.git('-c', 'core.compression=0', 'add', '.');
    repository.git('commit', '-q', '-m', 'Huge');
    const before = process.memoryUsage.rss();
    expect((await place.refresh(repository.dir)).skipped.too_large).to.equal(1);
    expect(process.memoryUsage.rss() - before).to.be.below(150 * 1024 * 1024);
  });

  it('keeps apart file names that are no UTF-8, and reads contents that are none', async () => {
    const { dir, git } = makeRepository({ 'a.txt': 'x\n' });
    for (const byte of [0xe9, 0xe8]) {
      const name = Buffer.concat([Buffer.from(join(dir, 'caf')), Buffer.from([byte])]);
      writeFileSync(name, Buffer.from(`text ${byte} \xe9\n`, 'latin1'));
    }
    git('add', '.');
    git('commit', '-q', '-m', 'Names');
    expect(await place.refresh(dir)).to.deep.include({ files: 3 });
    expect(place.nodes('file')).to.deep.equal(['file:a.txt', 'file:caf\\xe8', 'file:caf\\xe9']);
  });

  it('reads a bare repository, one without commits, and imports in a circle', async () => {
    const circle = makeRepository({
      'a.js': "import { second } from './b.js';\nexport function first() { return second(); }\n",
      'b.js': "import { first } from './a.js';\nexport function second() { return first(); }\n",
    });
    expect(await place.refresh(makeBareRepository(circle).dir)).to.deep.include({ files: 2 });
    expect(place.edges('imports')).to.deep.equal(['file:a.js -> file:b.js', 'file:b.js -> file:a.js']);
    expect(place.edges('references')).to.have.length(2);
    const empty = makeRepository();
    const [result] = await place.ingestion.refresh({ repositories: [{ name: 'empty', path: empty.dir }] });
    expect(result).to.deep.include({ commit: null, files: 0, read: 0 });
  });

  it('follows the paths of a tsconfig.json and the namespaces of C#', async () => {
    const { dir } = makeRepository({
      'web/tsconfig.json':
        '{ // how we import\n "compilerOptions": { "baseUrl": ".", "paths": { "@/*": ["./src/*"], "@one": ["src/one.ts",], } } }',
      'web/src/main.ts':
        "import { one } from '@one';\nimport { two } from '@/deep/two';\nimport { x } from 'src/x';\n",
      'web/src/one.ts': 'export const one = 1;\n',
      'web/src/deep/two.ts': 'export const two = 2;\n',
      'web/src/x.ts': "import y from '@/nowhere';\nexport const x = 3;\n",
      'app/Program.cs':
        'using System;\nusing Shop.Prices;\nusing static Shop.Text.Words;\nnamespace Shop;\nclass Program {}\n',
      'app/Prices/Price.cs': 'namespace Shop.Prices\n{\n  public class Price {}\n}\n',
      'app/Text/Words.cs': 'namespace Shop.Text;\nstatic class Words {}\n',
    });
    await place.refresh(dir);
    expect(place.edges('imports').sort()).to.deep.equal([
      'file:app/Program.cs -> file:app/Prices/Price.cs',
      'file:app/Program.cs -> file:app/Text/Words.cs',
      'file:web/src/main.ts -> file:web/src/deep/two.ts',
      'file:web/src/main.ts -> file:web/src/one.ts',
      'file:web/src/main.ts -> file:web/src/x.ts',
    ]);
  });

  it('says that a repository went away while it was read, and goes on when it is back', async () => {
    const files = Array.from({ length: 1_500 }, (_, n) => [`${n}.ts`, `export const value${n} = ${n};\n`]);
    const { dir } = makeRepository(Object.fromEntries(files));
    const [gone] = await place.ingestion.refresh(
      { repositories: [{ name: 'r', path: dir }] },
      {
        progress: ({ done }) => {
          if (done > 0 && existsSync(dir)) renameSync(dir, `${dir}.away`);
        },
      },
    );
    expect(gone).to.have.nested.property('error.code', 'repository_vanished');
    const kept = place.nodes('file').length;
    expect(kept).to.be.within(1, 1_499);
    renameSync(`${dir}.away`, dir);
    const again = await place.refresh(dir);
    expect(again).to.deep.include({ files: 1_500 });
    expect(again.unchanged).to.be.at.least(kept);
    expect(place.nodes('file')).to.have.length(1_500);
  });

  it('joins files that commits change together, also under their older names', async () => {
    const repository = makeRepository({ 'a.txt': '1\n', 'old.txt': 'one\ntwo\nthree\n', 'c.txt': '1\n' });
    repository.commit({ 'a.txt': '2\n', 'old.txt': 'one\ntwo\nthree\nfour\n' });
    repository.git('mv', 'old.txt', 'b.txt');
    repository.commit({});
    repository.commit({ 'a.txt': '3\n', 'b.txt': 'one\ntwo\nthree\nfour\nfive\n' });
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`many/${n}.txt`, `${n}\n`]));
    repository.commit({ ...many, 'c.txt': '2\n' });
    repository.commit({
      ...Object.fromEntries(Object.keys(many).map((path) => [path, 'x\n'])),
      'c.txt': '3\n',
    });
    await place.refresh(repository.dir);
    expect(place.edges('changed_with')).to.deep.equal(['file:a.txt -> file:b.txt']);
  });

  it('reads the commit that it is asked for', async () => {
    const repository = makeRepository({ 'a.txt': '1\n' });
    const first = repository.git('rev-parse', 'HEAD');
    repository.commit({ 'b.txt': '1\n' });
    const wanted = { name: 'r', path: repository.dir, commit: first };
    const [result] = await place.ingestion.refresh({ repositories: [wanted] });
    expect(result).to.deep.include({ commit: first, files: 1 });
    const missing = { ...wanted, commit: 'f'.repeat(40) };
    const [failed] = await place.ingestion.refresh({ repositories: [missing] });
    expect(failed).to.have.nested.property('error.code', 'commit_not_found');
  });

  it('lets a second refresh join the first', async () => {
    const { dir } = makeRepository(sources);
    const both = await Promise.all([place.refresh(dir), place.refresh(dir)]);
    expect(both[0]).to.equal(both[1]);
  });

  it('stops on request, keeps what it has, and continues from there', async () => {
    const files = Array.from({ length: 80 }, (_, n) => [
      `f${n}.ts`,
      `export const name${n} = ${n};\n`.repeat(20),
    ]);
    const { dir } = makeRepository(Object.fromEntries(files));
    const stop = new AbortController();
    const refreshed = place.ingestion.refresh(
      { repositories: [{ name: 'r', path: dir }] },
      { signal: stop.signal, progress: ({ done }) => done > 20 && stop.abort() },
    );
    const error = await refreshed.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).to.have.property('code', 'interrupted');
    expect(await place.ingestion.known()).to.deep.include.members([
      { repository: 'r', path: dir, commit: null, files: 0, at: null, complete: false },
    ]);
    const rest = await place.refresh(dir);
    expect(rest.files).to.equal(80);
    expect(rest.read).to.be.below(80);
    expect(place.nodes('symbol')).to.have.length(80 * 20);
  });

  it('says clearly what it cannot read, and reads the others', async () => {
    const good = makeRepository(sources);
    const plain = temporaryFolder();
    const refresh = (...repositories: string[]) =>
      place.ingestion.refresh({ repositories }).then(
        () => null,
        (error: { code: string }) => error.code,
      );
    expect(await refresh('/nowhere/at/all')).to.equal('repository_not_found');
    expect(await refresh(plain)).to.equal('path_not_a_repository');
    expect(await refresh(join(good.dir, 'src'))).to.equal('path_not_a_repository');
    expect(await refresh('demo/unknown')).to.equal('repository_unknown');
    const [failed, read] = await place.ingestion.refresh({
      repositories: [
        { name: 'bad', path: plain },
        { name: 'r', path: good.dir },
      ],
    });
    expect(failed).to.have.nested.property('error.code', 'path_not_a_repository');
    expect(read).to.include({ files: 3 });
  });

  it('names a path by its origin, and finds it again by its end', async () => {
    const { dir, git } = makeRepository(sources);
    git('remote', 'add', 'origin', 'git@forge.example:demo/shop.git');
    const [first] = await place.ingestion.refresh({ repositories: [dir] });
    expect(first).to.include({ repository: 'demo/shop', read: 3 });
    const [again] = await place.ingestion.refresh({ repositories: ['shop'] });
    expect(again).to.include({ repository: 'demo/shop', read: 0 });
    const [all] = await place.ingestion.refresh({});
    expect(all).to.include({ repository: 'demo/shop' });
    const other = makeRepository(sources);
    other.git('remote', 'add', 'origin', 'https://forge.example/demo/shop');
    const error = await place.ingestion.refresh({ repositories: [other.dir] }).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).to.have.property('code', 'repository_name_taken');
  });

  it('keeps what it has of a repository that vanishes, and of a file whose content is lost', async () => {
    const repository = makeRepository(sources);
    await place.refresh(repository.dir);
    const before = place.nodes();
    const blob = repository.git('rev-parse', 'HEAD:src/price.ts');
    repository.commit({ 'new.txt': 'x\n' });
    rmSync(join(repository.gitDir, 'objects', blob.slice(0, 2), blob.slice(2)), { force: true });
    const lost = await place.refresh(repository.dir);
    expect(lost.skipped.unreadable).to.equal(1);
    expect(place.nodes()).to.include.members(before);
    rmSync(repository.dir, { recursive: true });
    const [gone] = await place.ingestion.refresh({ repositories: ['r'] });
    expect(gone).to.have.nested.property('error.code', 'repository_not_found');
    expect(place.nodes()).to.include.members(before);
  });
});

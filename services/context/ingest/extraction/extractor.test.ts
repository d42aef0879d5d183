import { expect } from 'chai';
import type { Extraction } from './extraction.ts';
import { Extractor } from './extractor.ts';

const extractor = new Extractor();

async function extract(path: string, text: string | Buffer): Promise<Extraction> {
  const extraction = await extractor.extract(path, Buffer.from(text as string));
  return extraction!;
}

async function symbols(path: string, text: string): Promise<string[]> {
  const { parts } = await extract(path, text);
  return parts.map(({ sort, name, start, end }) => `${sort} ${name} ${start}-${end}`);
}

describe('Reading a source file', () => {
  it('finds what TypeScript declares for others, with its decorators and export', async () => {
    const text = `import { x } from './x.ts';
/** Greets. */
export abstract class Greeter<T> {
  #count = 0;
  handler = () => this.#count;
  constructor(readonly name: string) {}
  /** Says it. */
  greet(): string {
    function inner() {}
    return this.name;
  }
  abstract end(): void;
}
export interface Named { name: string }
export type Id = string;
export enum Colour { Red }
export const limit = 5, routes = { list() {}, add: () => 1 };
export const run = async () => { const local = 1; };
namespace Space { export function within() {} }
declare function ambient(): void;
`;
    expect(await symbols('a.ts', text)).to.deep.equal([
      'class Greeter 3-13',
      'method Greeter.handler 5-5',
      'method Greeter.constructor 6-6',
      'method Greeter.greet 8-11',
      'method Greeter.end 12-12',
      'interface Named 14-14',
      'type Id 15-15',
      'enum Colour 16-16',
      'constant limit 17-17',
      'constant routes 17-17',
      'method routes.list 17-17',
      'method routes.add 17-17',
      'function run 18-18',
      'namespace Space 19-19',
      'function Space.within 19-19',
      'function ambient 20-20',
    ]);
  });

  it('gives a part its comment and signature, and what it holds only once', async () => {
    const { parts } = await extract(
      'a.ts',
      '/** Counts. */\nexport class Counter {\n  total = 0;\n\n  // One more.\n  add(n: number): void {\n    this.total += n;\n  }\n}\n',
    );
    const [counter, add] = parts;
    expect(counter!.signature).to.equal('export class Counter');
    expect(counter!.body).to.include('/** Counts. */').and.to.include('total = 0').and.not.to.include('+=');
    expect(add!.signature).to.equal('add(n: number): void');
    expect(add!.body).to.equal('  // One more.\n  add(n: number): void {\n    this.total += n;\n  }');
    expect(add!.parent).to.equal(0);
  });

  const languages: Record<string, [path: string, text: string, found: string[]]> = {
    TSX: [
      'a.tsx',
      'export function App(): JSX.Element {\n  return <div className="a">{1}</div>;\n}\n',
      ['function App 1-3'],
    ],
    JavaScript: [
      'a.js',
      "'use strict';\nmodule.exports.send = function () {};\nResponse.prototype.json = function () {};\nfunction* all() {}\nvar app = require('./app');\nexports.use = require('./use').use;\n(function () { function hidden() {} })();\n",
      ['function send 2-2', 'function Response.json 3-3', 'function all 4-4', 'function hidden 7-7'],
    ],
    Python: [
      'a.py',
      'LIMIT = 3\n\n@dataclass\nclass Greeter(Base):\n    name = 1\n    async def greet(self):\n        def inner(): pass\n        return 1\n\ndef main():\n    x = 1\n',
      ['constant LIMIT 1-1', 'class Greeter 3-8', 'method Greeter.greet 6-8', 'function main 10-11'],
    ],
    Go: [
      'a.go',
      'package a\n\ntype Server struct{}\ntype Handler interface{ Serve() }\nfunc (s *Server) Run(x int) error { return nil }\nfunc New[T any](x T) *Server { return nil }\nconst (\n\tLow = 1\n\tHigh = 2\n)\nvar Default = New(1)\n',
      [
        'struct Server 3-3',
        'interface Handler 4-4',
        'method Server.Run 5-5',
        'function New 6-6',
        'constant Low 8-8',
        'constant High 9-9',
        'variable Default 11-11',
      ],
    ],
    Rust: [
      'a.rs',
      'pub struct Parser<T> { x: T }\nimpl<T> Parser<T> {\n    pub fn new() -> Self { todo!() }\n}\nimpl Display for Parser<u8> {\n    fn fmt(&self) {}\n}\npub trait Walk { fn step(&self); }\nmod inner { pub const MAX: u8 = 1; }\nmacro_rules! make { () => {} }\n',
      [
        'struct Parser 1-1',
        'function Parser::new 3-3',
        'function Parser::fmt 6-6',
        'trait Walk 8-8',
        'function Walk::step 8-8',
        'module inner 9-9',
        'constant inner::MAX 9-9',
        'macro make 10-10',
      ],
    ],
    Java: [
      'A.java',
      'package a;\npublic class A<T> {\n  static final int MAX = 1;\n  private int n;\n  A() {}\n  <R> R map(int x) { return null; }\n  enum E { X; void f() {} }\n  interface I { void i(); }\n  record P(int x) {}\n}\n',
      [
        'class A 2-10',
        'constant A.MAX 3-3',
        'constructor A.A 5-5',
        'method A.map 6-6',
        'enum A.E 7-7',
        'method A.E.f 7-7',
        'interface A.I 8-8',
        'method A.I.i 8-8',
        'record A.P 9-9',
      ],
    ],
    C: [
      'a.c',
      '#define MAX(a, b) a\nstruct node { struct node *next; };\ntypedef struct { int x; } point;\nstatic int *make(int n) { return 0; }\nint proto(void);\nint global = 1;\n',
      ['macro MAX 1-1', 'struct node 2-2', 'type point 3-3', 'function make 4-4', 'function proto 5-5'],
    ],
    'C++': [
      'a.cpp',
      'namespace ns {\nclass Shape : Base {\npublic:\n  virtual double area() const = 0;\n  ~Shape();\n};\ntemplate <class T> T twice(T x) { return x; }\n}\ndouble ns::Shape::area() const { return 1; }\n',
      [
        'class ns::Shape 2-6',
        'method ns::Shape::area 4-4',
        'method ns::Shape::~Shape 5-5',
        'method ns::twice 7-7',
        'method ns::Shape::area 9-9',
      ],
    ],
    'C#': [
      'A.cs',
      'namespace A.B {\n  public class Store<T> {\n    public Store() {}\n    public int Count { get; set; }\n    T Get<K>(K key) { return default; }\n  }\n  public record Pair(int X);\n  enum Kind { One }\n}\n',
      [
        'class Store 2-6',
        'constructor Store.Store 3-3',
        'property Store.Count 4-4',
        'method Store.Get 5-5',
        'record Pair 7-7',
        'enum Kind 8-8',
      ],
    ],
    Ruby: [
      'a.rb',
      'module Shop\n  LIMIT = 1\n  class Cart < Base\n    def add(item) = 1\n    def self.open\n    end\n    class << self\n      def all; end\n    end\n  end\nend\n',
      [
        'module Shop 1-11',
        'constant Shop::LIMIT 2-2',
        'class Shop::Cart 3-10',
        'method Shop::Cart::add 4-4',
        'method Shop::Cart::open 5-6',
        'method Shop::Cart::all 8-8',
      ],
    ],
    PHP: [
      'a.php',
      '<?php\nnamespace App;\ninterface Sends { public function send(); }\nfinal class Mailer implements Sends {\n  const MAX = 1;\n  public function send() { return 1; }\n}\nfunction helper() {}\n',
      [
        'interface Sends 3-3',
        'method Sends::send 3-3',
        'class Mailer 4-7',
        'constant Mailer::MAX 5-5',
        'method Mailer::send 6-6',
        'function helper 8-8',
      ],
    ],
  };
  for (const [language, [path, text, found]] of Object.entries(languages)) {
    it(`finds what ${language} declares`, async () => {
      expect(await symbols(path, text)).to.deep.equal(found);
    });
  }

  it('still finds what stands around a syntax error', async () => {
    const found = await symbols(
      'a.ts',
      'export function before() {}\nconst = = ;;; {{{\nexport function after() {}\n',
    );
    expect(found).to.include('function before 1-1');
    const { parts } = await extract('a.py', 'def good():\n    pass\n\ndef bad(:\n');
    expect(parts.map(({ name }) => name)).to.include('good');
  });

  it('reads what nests deeper than any stack, and a line of half a million characters', async () => {
    // Parsing has three seconds; what a busy machine does not parse in them is read as lines.
    const unparsed = 'part-1';
    const deep = await extract(
      'deep.ts',
      `export const first = 1;\nexport const x = ${'[\n'.repeat(100_000)}`,
    );
    expect(deep.parts[0]!.name).to.be.oneOf(['first', unparsed]);
    const wide = await extract(
      'wide.c',
      `int one(void);\nint x = 1${'+1'.repeat(250_000)};${'\n'.repeat(1_500)}`,
    );
    expect(wide.parts[0]!.name).to.be.oneOf(['one', unparsed]);
    expect(wide.text.length).to.equal(200_000);
  });

  it('reads a file without its grammar if the parser is known to break on it', async () => {
    const text = 'export const one = 1;\n'.repeat(100);
    const plain = await extractor.extract('a.ts', Buffer.from(text), true);
    expect(plain!.language).to.equal('typescript');
    expect(plain!.parts.map(({ sort }) => sort)).to.deep.equal(['lines', 'lines']);
  });

  it('counts equal names, as a symbol may be declared twice', async () => {
    const { parts } = await extract(
      'a.ts',
      'function f(a: string): void;\nfunction f(a: number): void;\nfunction f() {}\n',
    );
    expect(parts.map(({ name, nth }) => `${name} ${nth}`)).to.deep.equal(['f 1', 'f 2', 'f 3']);
  });

  it('reports which part uses which names, and skips comments, strings and its own', async () => {
    const text = `import { readTree } from './tree.ts';
// readNothing
export function walk() { return readTree('inString', \`\${treeOf(1)}\`); }
export const other = walk();
`;
    const { references, imports } = await extract('a.ts', text);
    expect(imports).to.deep.equal([{ module: './tree.ts', names: ['readTree'] }]);
    expect(references).to.deep.equal([
      { part: 0, names: ['readTree()', 'treeOf()'] },
      { part: 1, names: ['walk()'] },
    ]);
  });

  it('gives a member with what it is a member of, and marks calls', async () => {
    const usesOf = async (path: string, text: string) =>
      (await extract(path, text)).references.flatMap(({ names }) => names);
    const table: Record<string, [string, string]> = {
      'a.ts': [
        'function f() { tree.walk().readAll(); this.grow(); this.root.prune(); [...leaves]; half?.one; }',
        'tree tree.walk() .readAll() this.grow() this.root .prune() leaves half half.one',
      ],
      'a.py': [
        'def f():\n    os.path.exists(x)\n    make()\\\n        .later\n',
        'os.path os.path.exists() make() .later',
      ],
      'a.rs': [
        'fn f() { crate::tree::grow(one..leaves); Tree::plant::<u8>(); self.roots.dig(); sow!(1); self::rake() }',
        'crate.tree crate.tree.grow() one leaves Tree Tree.plant() .dig() sow! rake()',
      ],
      'a.php': [
        '<?php function f() { $tree->grow($one . $two); $this->dig(); $tree->roots; Tree::plant(); }',
        'php $tree .grow() $one $two $this $this.dig() Tree Tree.plant()',
      ],
      'A.java': [
        'class A { void f() { map(Tree::plant); this.roots = x.roots; } }',
        'Tree Tree.plant() this.roots x.roots',
      ],
    };
    for (const [path, [text, names]] of Object.entries(table))
      expect((await usesOf(path, text)).join(' '), path).to.equal(names);
  });

  it('takes no parameter, variable, key or label of a part for a use', async () => {
    const table: Record<string, string> = {
      'a.ts':
        'function f(one: number, { two, three: four }, ...five) { const [six] = one; for (const seven of two) four(five, six, seven); return { eight: 1, f: (nine) => nine }; }',
      'a.py':
        'def f(one, two=1, *three):\n    four = one\n    five, six = two, three\n    return [seven for seven in four if five(six)]\n',
      'a.go':
        'package a\nfunc f(one string) { two := one; for three, four := range two { _ = three + four }; var five = T{six: five} }\n',
      'a.rs':
        '#[cfg(test)]\nfn f(one: u8) { let (two, three) = one; if let Some(four) = two { three(four) } match one { five => five }; S { six: one }; }\n',
      'A.java':
        'class A { void f(int one) { int two = one; for (int three : two) {} try {} catch (E four) { four.run(); } g(five -> five); } }',
      'a.cc':
        'void f(int one, char *two) { int three = one; auto &four = two; for (auto five : four) five = three; }',
    };
    for (const [path, text] of Object.entries(table)) {
      const names = (await extract(path, text)).references.flatMap(({ names }) => names);
      const numbers = 'one two three four five six seven eight nine'.split(' ');
      expect(
        names.filter((name) => numbers.includes(name.replace(/\W.*$/, ''))),
        path,
      ).to.deep.equal([]);
    }
  });

  it('knows how each language imports, and what it calls that', async () => {
    const imports: Record<string, [string, string[]]> = {
      'a.js': [
        "const a = require('./a'); import('b'); export * from './c'; import d, { e as f } from 'd'; import * as g from 'g'; const { h: i, j } = require('h');",
        ['./a a', 'b', './c', 'd d f', 'g g', 'h i j'],
      ],
      'a.ts': ["import type { A, type B as C } from './a';\n", ['./a A C']],
      'a.py': [
        'from . import x\nfrom ..a.b import (c,\n  d as e)\nimport f.g as h, i\nimport j.k\nfrom l import *\n',
        ['.x x', '..a.b.c c', '..a.b.d e', 'f.g h', 'i i', 'j.k j', 'l'],
      ],
      'a.go': [
        'package a\nimport (\n\t"fmt"\n\tx "m/y"\n\t"n/go-w.v2"\n\t"o/p/v3"\n)\nimport "m/z"\n',
        ['fmt fmt', 'm/y x', 'n/go-w.v2 w', 'o/p/v3 p', 'm/z z'],
      ],
      'a.rs': [
        'mod x;\nuse crate::a::{b, c as d, e::{self, f}, g::*};\npub use super::h;\nuse {i::j, k};\n',
        [
          ...[
            'mod x x',
            'crate::a::b b',
            'crate::a::c d',
            'crate::a::e e',
            'crate::a::e::f f',
            'crate::a::g',
          ],
          ...['super::h h', 'i::j j', 'k k'],
        ],
      ],
      'A.java': ['import static a.b.C;\nimport d.E;\n', ['a.b.C C', 'd.E E']],
      'a.cc': ['#include <vector>\n#  include "a/b.h"\n', ['vector', 'a/b.h']],
      'a.cs': ['using System.IO;\nusing F = System.Files;\n', ['System.IO', 'System.Files F']],
      'a.rb': ["require_relative 'a'\nrequire 'b/c'\n", ['./a', 'b/c']],
      'a.php': [
        "<?php\nuse A\\B;\nuse C\\{D, E as F};\nuse G as H;\nrequire __DIR__ . '/f.php';\n",
        ['A\\B B', 'C\\D D', 'C\\E F', 'G H', 'f.php'],
      ],
    };
    for (const [path, [text, found]] of Object.entries(imports)) {
      const read = (await extract(path, text)).imports;
      expect(
        read.map(({ module, names }) => [module, ...names].join(' ')),
        path,
      ).to.deep.equal(found);
    }
  });
});

describe('Reading a document', () => {
  it('cuts Markdown at its headings, and not in its code', async () => {
    const text =
      '---\ntitle: x\n---\nHello\n\n# One `two`\nbody\n```\n# no heading\n```\nUnder\n-----\nmore\n## One two\nlast\n';
    const { parts } = await extract('a.md', text);
    expect(
      parts.map(({ name, title, start, end, parent }) => [name, title, start, end, parent]),
    ).to.deep.equal([
      ['one-two', 'One two', 6, 15, -1],
      ['under', 'One two › Under', 11, 13, 0],
      ['one-two-1', 'One two › One two', 14, 15, 0],
    ]);
    expect(parts[0]!.body).to.equal('body\n```\n# no heading\n```');
  });

  it('cuts reStructuredText and AsciiDoc', async () => {
    const rst = await extract('a.rst', '=====\nTitle\n=====\ntext\n\nPart\n----\nmore\n\nSub\n~~~\nend\n');
    expect(rst.parts.map(({ title, start }) => `${title} ${start}`)).to.deep.equal([
      'Title 1',
      'Title › Part 6',
      'Title › Part › Sub 10',
    ]);
    const adoc = await extract('a.adoc', '= Title\ntext\n\n== Part\n----\n== no\n----\n');
    expect(adoc.parts.map(({ title }) => title)).to.deep.equal(['Title', 'Title › Part']);
  });

  it('reports what it names in backticks and links to', async () => {
    const { mentions } = await extract(
      'a.md',
      '# A\nSee `src/greet.ts:12` and `Greeter.greet()`; [b](../b.md#x), [web](https://x.org), `npm run test`.\n',
    );
    expect(mentions).to.deep.equal([{ part: 0, names: ['src/greet.ts', 'Greeter.greet', '../b.md'] }]);
  });
});

describe('Reading any other file', () => {
  it('cuts a long text into windows that overlap and cover it', async () => {
    const lines = Array.from({ length: 200 }, (_, n) => `line ${n + 1}`);
    const { parts } = await extract('a.txt', lines.join('\n'));
    expect(parts[0]!.start).to.equal(1);
    expect(parts.at(-1)!.end).to.equal(200);
    for (const [at, part] of parts.slice(1).entries()) expect(part.start).to.be.at.most(parts[at]!.end);
    expect((await extract('short.txt', 'one\ntwo\n')).parts).to.deep.equal([]);
  });

  it('reads every encoding it recognises, and leaves binaries alone', async () => {
    expect((await extract('a.txt', Buffer.from('\ufeffhé', 'utf16le'))).text).to.equal('hé');
    expect((await extract('a.txt', Buffer.from([0xfe, 0xff, 0, 0x68]))).text).to.equal('h');
    expect((await extract('a.txt', Buffer.from('caf\xe9', 'latin1'))).text).to.equal('café');
    expect((await extract('a.txt', Buffer.from('\ufeffa\r\nb'))).text).to.equal('a\nb');
    expect((await extract('empty.ts', '')).parts).to.deep.equal([]);
    expect(await extractor.extract('a.png', Buffer.from([0x89, 0x50, 0, 1]))).to.equal(null);
  });

  it('keeps of lock files and minified code the beginning alone', async () => {
    const { text, parts } = await extract('package-lock.json', `{${'"a": 1,\n'.repeat(5_000)}}`);
    expect([text.length, parts.length]).to.deep.equal([2_000, 0]);
    expect((await extract('x.min.js', `var a=${'1+'.repeat(20_000)}1`)).text.length).to.equal(2_000);
  });

  it('finds services of a compose file and programs of a package', async () => {
    const compose = await extract(
      'compose.yaml',
      'name: x\nservices:\n  web:\n    image: a\n  db:\n    image: b\nvolumes:\n  data:\n',
    );
    expect(compose.parts.map(({ node, name, start, end }) => [node, name, start, end])).to.deep.equal([
      ['service', 'web', 3, 4],
      ['service', 'db', 5, 6],
    ]);
    const pack = await extract('package.json', '{"name":"@a/b","bin":"./cli.js","imports":{"#x/*":"./x/*"}}');
    expect(pack.parts.map(({ name }) => name)).to.deep.equal(['b']);
    expect(pack.module).to.deep.equal({ name: '@a/b', main: null, imports: { '#x/*': './x/*' } });
    expect((await extract('package.json', '{broken')).parts).to.deep.equal([]);
  });
});

import { expect } from 'chai';
import { nodeId } from '../../record/node-id.ts';
import { Extractor } from '../extraction/extractor.ts';
import { factsOf, namesIn, readUses } from './facts.ts';
import { Linker } from './linker.ts';
import { Names } from './names.ts';
import { Places } from './places.ts';

const extractor = new Extractor();

/** What the files whose names have `use` refer to or import, with the weight of a reference. */
async function linksOf(sources: Record<string, string>): Promise<string[]> {
  const files = await Promise.all(
    Object.entries(sources).map(async ([path, text]) => {
      const extraction = (await extractor.extract(path, Buffer.from(text)))!;
      const ids = extraction.parts.map(({ name, nth }) => nodeId.symbol('r', path, name, nth));
      return { path, extraction, ids, facts: factsOf(extraction, nodeId.file('r', path), ids) };
    }),
  );
  const places = new Places(files.map(({ path }) => path));
  for (const { path, facts } of files)
    if (facts.module !== null) places.addModule(path, JSON.parse(facts.module));
  const symbols = files.flatMap(({ path, extraction: { parts, language }, ids }) =>
    parts.flatMap(({ node, name: title, sort }, at) => {
      return node === 'symbol' ? [{ id: ids[at]!, path, title, sort, language }] : [];
    }),
  );
  const names = new Names();
  for (const name of new Set(files.flatMap(({ facts }) => namesIn(readUses(facts.uses)))))
    names.add(
      [name],
      symbols.filter(({ title }) => title.split(/\.|::/).at(-1) === name),
    );
  const linker = new Linker('r', { places, names }, []);
  const short = (id: string) => id.replace(/^(symbol|file):r:/, '');
  return files
    .filter(({ path }) => /use/i.test(path))
    .flatMap(({ path, facts }) => linker.linksOf(path, facts.language, readUses(facts.uses)).links)
    .map(({ from, kind, to, weight }) =>
      kind === 'imports' ? `${short(from)} imports ${short(to)}` : `${short(from)} -> ${short(to)} ${weight}`,
    )
    .sort();
}

/** By what is linked: sources, and the links of weight 1 among those to functions, methods and constants. */
const certain: Record<string, [files: Record<string, string>, links: string[]]> = {
  'a call of Rust, and not the field of the same name': [
    {
      'src/use.rs':
        'struct Io { read_buf: Vec<u8> }\nimpl Io {\n  fn read_buf(&self) -> &[u8] { &[] }\n  fn field(&self) { self.read_buf.len(); }\n  fn call(&self) { self.read_buf(); }\n  fn path(&self) { Self::read_buf(self); }\n}\n',
    },
    ['src/use.rs#Io::call -> src/use.rs#Io::read_buf 1', 'src/use.rs#Io::path -> src/use.rs#Io::read_buf 1'],
  ],
  'a member of self of Rust to the type around it': [
    {
      'src/use.rs':
        'impl One {\n  fn grow(&self) {}\n}\nimpl Two {\n  fn run(&self) { self.grow(); }\n}\nimpl Three {\n  fn grow(&self) {}\n  fn run(&self) { self.grow(); }\n}\n',
    },
    ['src/use.rs#Three::run -> src/use.rs#Three::grow 1'],
  ],
  'no local name, lifetime, attribute or raw string of Rust': [
    {
      'src/use.rs':
        'mod test {}\nfn pending() {}\nfn input() {}\nfn quoted() {}\n#[cfg(test)]\nfn run<\'input>(x: Option<u8>) { if let Some(pending) = x { pending.go(); } r#"quoted "x" quoted"#; }\nfn call() { pending(); }\n',
    },
    ['src/use.rs#call -> src/use.rs#pending 1'],
  ],
  'a macro of Rust by its sign': [
    {
      'src/use.rs':
        'macro_rules! build { () => {} }\nfn make() {}\nfn run() { build!(); build(); make(); make!(); }\n',
    },
    ['src/use.rs#run -> src/use.rs#build 1', 'src/use.rs#run -> src/use.rs#make 1'],
  ],
  'a type of Java, and no constructor, field or variable': [
    {
      'UseAll.java':
        'class UseAll {\n  static class Inner { Inner() {} Inner(int x) {} int size() { return 1; } }\n  int size;\n  Class<?> literal() { return Inner.class; }\n  Object made() { return new Inner(); }\n  int field() { return size + this.size; }\n}\n',
    },
    [
      'UseAll.java#UseAll.literal -> UseAll.java#UseAll.Inner 1',
      'UseAll.java#UseAll.made -> UseAll.java#UseAll.Inner 1',
    ],
  ],
  'a method of Java by its call or reference, in the type around it': [
    {
      'UseAll.java':
        'class UseAll {\n  int count() { return 1; }\n  int own() { return count() + this.count(); }\n  Object given() { return map(UseAll::count); }\n  int local(int count) { return count; }\n}\nclass Other {\n  int run() { return count(); }\n}\n',
    },
    [
      'UseAll.java#UseAll.given -> UseAll.java#UseAll 1',
      'UseAll.java#UseAll.given -> UseAll.java#UseAll.count 1',
      'UseAll.java#UseAll.own -> UseAll.java#UseAll.count 1',
    ],
  ],
  'a function of Go, and no key, field, parameter or other package': [
    {
      'go.mod': 'module example.org/m\n',
      'other/other.go': 'package other\nfunc Open() {}\n',
      'pkg/own.go': 'package pkg\nfunc Open() {}\nfunc limit() {}\n',
      'pkg/use.go':
        'package pkg\nimport "example.org/m/other"\nfunc run(limit int) { x := T{Open: limit}; x.Open = 1; other.Open() }\nfunc call() { limit() }\n',
    },
    [
      'pkg/use.go imports dir:r:other',
      'pkg/use.go#call -> pkg/own.go#limit 1',
      'pkg/use.go#run -> other/other.go#Open 1',
    ],
  ],
  'a member of this of TypeScript to the class around it': [
    {
      'use.ts':
        'class One { grow() {} }\nclass Two { run() { this.grow(); } }\nclass Three { grow() {} run() { this.grow(); } }\n',
    },
    ['use.ts#Three.run -> use.ts#Three.grow 1'],
  ],
  'no key, parameter or variable of JavaScript': [
    {
      'lib.js': 'export function parse() {}\nexport function other() {}\n',
      'use.js':
        "import { parse } from './lib.js';\nfunction next() {}\nfunction run(next, { parse: other }) { next(); return { parse: other }; }\nfunction call() { next(); parse(); other(); }\n",
    },
    ['use.js imports lib.js', 'use.js#call -> lib.js#parse 1', 'use.js#call -> use.js#next 1'],
  ],
  'what a module of JavaScript holds, and nothing beside a class that is imported': [
    {
      'lib.js': 'export class Tree { grow() {} }\nexport function plant() {}\n',
      'use.js':
        "import { Tree } from './lib.js';\nimport * as lib from './lib.js';\nfunction run() { lib.plant(); }\nfunction wrong() { Tree.plant(); }\n",
    },
    ['use.js imports lib.js', 'use.js#run -> lib.js#plant 1', 'use.js#wrong -> lib.js#Tree 1'],
  ],
  'a member of self of Python to the class around it, and no argument': [
    {
      'use.py':
        'def size():\n    pass\n\nclass One:\n    def grow(self):\n        pass\n\nclass Two:\n    def grow(self):\n        pass\n    def run(self, size):\n        self.grow(size)\n        make(size=1)\n\nclass Three:\n    def run(self):\n        self.grow()\n        size()\n',
    },
    ['use.py#Three.run -> use.py#size 1', 'use.py#Two.run -> use.py#Two.grow 1'],
  ],
  'a member of this of C++ to the class around it, and no field or variable': [
    {
      'use.cc':
        'void size() {}\nstruct One { void grow() {} };\nstruct Two { void grow() {}\n  void run() { this->grow(); grow(); }\n};\nstruct Three { void run(T other, int size) { other.size = size; this->grow(); grow(); } };\nvoid call() { size(); }\n',
    },
    ['use.cc#Two::run -> use.cc#Two::grow 1', 'use.cc#call -> use.cc#size 1'],
  ],
};

describe('A link of weight 1', () => {
  for (const [title, [files, links]] of Object.entries(certain)) {
    it(`leads to ${title}`, async () => {
      const found = await linksOf(files);
      expect(found.filter((link) => !/ 0\.\d+$/.test(link))).to.deep.equal(links);
    });
  }
});

describe('An import', () => {
  const roots: Record<string, [files: Record<string, string>, links: string[]]> = {
    'the root package of a Go module': [
      {
        'go.mod': 'module example.org/m\n',
        'root.go': 'package m\nfunc Open() {}\n',
        'cmd/use.go': 'package main\nimport "example.org/m"\nfunc main() { m.Open() }\n',
      },
      ['cmd/use.go imports repo:r', 'cmd/use.go#main -> root.go#Open 1'],
    ],
    'the root package of a nested Go module, and not a folder of the outer one': [
      {
        'go.mod': 'module example.org/m\n',
        'tools/go.mod': 'module example.org/m/x\n',
        'tools/root.go': 'package x\nfunc Open() {}\n',
        'x/old.go': 'package x\nfunc Open() {}\n',
        'cmd/use.go': 'package main\nimport "example.org/m/x"\nfunc main() { x.Open() }\n',
      },
      ['cmd/use.go imports dir:r:tools', 'cmd/use.go#main -> tools/root.go#Open 1'],
    ],
    'the module above a module of Rust': [
      {
        'src/lib.rs': 'mod a;\npub fn open_root() {}\n',
        'src/a.rs': 'mod use_it;\npub fn open_a() {}\n',
        'src/a/use_it.rs':
          'use super::open_a;\nuse super::super::open_root;\nfn run() { open_a(); open_root(); }\n',
      },
      [
        'src/a/use_it.rs imports src/a.rs',
        'src/a/use_it.rs imports src/lib.rs',
        'src/a/use_it.rs#run -> src/a.rs#open_a 1',
        'src/a/use_it.rs#run -> src/lib.rs#open_root 1',
      ],
    ],
    'the main file of a JavaScript package by its folder': [
      {
        'package.json': '{"name":"tree","main":"lib/tree"}',
        'lib/tree.js': 'exports.grow = function () {};\n',
        'test/use.js': "const tree = require('..');\nfunction run() { tree.grow(); }\n",
      },
      ['test/use.js imports lib/tree.js', 'test/use.js#run -> lib/tree.js#grow 1'],
    ],
  };
  for (const [title, [files, links]] of Object.entries(roots)) {
    it(`leads to ${title}`, async () => expect(await linksOf(files)).to.deep.equal(links.toSorted()));
  }
});

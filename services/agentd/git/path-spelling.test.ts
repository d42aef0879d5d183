import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { Minimatch } from 'minimatch';
import { shippedConfigFolder } from '#kit/config/concern.ts';
import { guards } from '../approval/guarding-globs.ts';
import { canonicalPath, maySpellSame } from './path-spelling.ts';

const { risk } = JSON.parse(readFileSync(join(shippedConfigFolder, 'policy.json'), 'utf8'));
const globs: readonly string[] = [
  ...risk.sensitive_paths,
  ...risk.critical_paths,
  ...['src/auth/**', 'keys/café.pem', '**/*.secret', 'Straße/x', '.github', 'a b/c.d/**'],
];

/** Paths that a glob matches as they are. */
function pathsOf(glob: string): string[] {
  return new Minimatch(glob, { dot: true })
    .braceExpand()
    .flatMap((one) => [
      one.replace(/^\*\*\//, '').replace(/\*\*$/, 'in it/some.txt'),
      one.replace(/^\*\*\//, 'a/b.c/').replace(/\*\*$/, 'x'),
    ])
    .map((path) => path.replaceAll('*', 'name'));
}

/** The short name that Windows gives to a name of ASCII letters; null where it needs none. */
function shortName(name: string, number: number): string | null {
  const clean = name.replace(/^[. ]+/, '').replaceAll(' ', '');
  const dot = clean.lastIndexOf('.');
  const [stem, extension] =
    dot === -1 ? [clean, ''] : [clean.slice(0, dot).replaceAll('.', ''), clean.slice(dot + 1)];
  const isShort = /^[^. ]{1,8}(\.[^. ]{1,3})?$/.test(name);
  if (isShort || !/^[ -~]+$/.test(name)) return null;
  const tail = `~${number}`;
  const short = stem.replaceAll(/[+,;=[\]]/g, '_').slice(0, Math.min(6, 8 - tail.length)) + tail;
  return (extension === '' ? short : `${short}.${extension.slice(0, 3)}`).toUpperCase();
}

type Respell = (name: string, isLast: boolean) => string;
const respellings: readonly Respell[] = [
  (name) => name.toUpperCase(),
  (name) => name.toLowerCase(),
  (name) => [...name].map((one, at) => (at % 2 === 0 ? one.toUpperCase() : one.toLowerCase())).join(''),
  (name) => `${name}.`,
  (name) => `${name}. .`,
  (name) => `${name}  `,
  (name) => name.normalize('NFD'),
  (name) => name.normalize('NFC'),
  (name) => `${name.slice(0, 1)}\u200c${name.slice(1)}\u{feff}`,
  (name, isLast) => (isLast ? `${name}::$DATA` : `${name}::$INDEX_ALLOCATION`),
  (name, isLast) => (isLast ? `${name}:stream` : name),
  (name) => shortName(name, 1) ?? name,
  (name) => shortName(name, 4) ?? name,
  (name) => shortName(name, 12) ?? name,
];

const spelled = fc.tuple(
  fc.constantFrom(...globs.flatMap((glob) => pathsOf(glob).map((path) => ({ glob, path })))),
  fc.array(fc.constantFrom(...respellings), { minLength: 1, maxLength: 8 }),
  fc.constantFrom('/', '\\'),
);

function respell(path: string, how: readonly Respell[], separator: string): string {
  const names = path.split('/');
  return names.map((name, at) => how[at % how.length]!(name, at === names.length - 1)).join(separator);
}

describe('A guarding glob', () => {
  it('guards what it matches in every spelling that Windows or macOS take for the same file', () => {
    fc.assert(
      fc.property(spelled, ([{ glob, path }, how, separator]) => {
        expect(guards([glob], path), `${glob} ${path}`).to.equal(true);
        const other = respell(path, how, separator);
        expect(guards([glob], other), `${glob} guards ${path}, not ${JSON.stringify(other)}`).to.equal(true);
        expect(maySpellSame(path, other), JSON.stringify([path, other])).to.equal(true);
      }),
      { numRuns: 3_000 },
    );
  });

  for (const [glob, path] of [
    ['src/auth/**', 'src/auth./x'],
    ['src/auth/**', 'src\\auth\\x'],
    ['src/auth/**', 'docs\\..\\src\\auth\\x'],
    ['src/auth/**', 'src/auth::$INDEX_ALLOCATION/x'],
    ['.github/workflows/**', 'GITHUB~1/WORKFL~1/ci.yml'],
    ['.gitattributes', 'GI7D29~1'],
    ['**/package.json', 'app/PACKAG~1.JSO'],
    ['**/*.sh', 'a.sh:b'],
    ['**/*.sh', 'a:b.sh'],
  ] as const)
    it(`${glob} guards ${path}`, () => {
      expect(guards([glob], path)).to.equal(true);
    });

  for (const [glob, path] of [
    ['src/auth/**', 'src/authors/x'],
    ['src/auth/**', 'src/auth.ts'],
    ['.github/workflows/**', 'github/workflows/ci.yml'],
    ['.github/workflows/**', 'GITLAB~1/WORKFL~1/ci.yml'],
    ['**/package.json', 'app/PACKAG~1.TXT'],
    ['Dockerfile', 'docker~'],
    ['Dockerfile', 'README~1'],
  ] as const)
    it(`${glob} does not guard ${path}`, () => {
      expect(guards([glob], path)).to.equal(false);
    });
});

describe('The canonical form of a path', () => {
  it('is its own, and that of ordinary paths in lower case', () => {
    fc.assert(
      fc.property(fc.string(), (path) => {
        expect(canonicalPath(canonicalPath(path))).to.equal(canonicalPath(path));
      }),
    );
    for (const path of ['src/a-b.ts', '.github/x', 'a.b/c d/e']) expect(canonicalPath(path)).to.equal(path);
  });
});

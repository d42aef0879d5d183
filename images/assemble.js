// Copies one image's part of the project: `node assemble.js TARGET [SERVICE…]` with the services that its programs are made of (none
// named: all), their configuration, and of node_modules what they import, without what no program reads when it runs.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const [target, ...named] = process.argv.slice(2);
const services = named.length > 0 ? named : foldersIn(join(root, 'services'));
const dependencies = Object.keys(manifest(root).dependencies);
const unread = /(\.test\.ts|\.d\.[cm]?ts|\.map|\.md|\.markdown|\.tsbuildinfo|\.flow)$/i;
/** Node refuses TypeScript in packages; the rest is for browsers and bundlers, or the same once more for another module system. */
const unreadInPackages = /(\.[cm]?tsx?|\.scss|\.css|\/\.eslintrc.*|\/(tests?|examples?|benchmarks?))$/i;
const unreadFolders = {
  '@agentclientprotocol/sdk': ['schema'],
  '@ai-sdk/anthropic': ['docs', 'src'],
  '@ai-sdk/provider': ['src'],
  '@ai-sdk/provider-utils': ['src'],
  '@modelcontextprotocol/sdk': ['dist/cjs'],
  '@opentelemetry/api': ['build/esm', 'build/esnext'],
  ajv: ['lib'],
  async: ['dist'],
  bottleneck: ['src', 'test'],
  diff: ['dist', 'libesm'],
  glob: ['dist/commonjs'],
  'fp-ts': ['es6'],
  'highlight.js': ['lib/languages', 'styles'],
  hono: ['dist/adapter', 'dist/cjs', 'dist/client', 'dist/middleware', 'dist/types'],
  'htmx.org': [
    ...['editors', 'ext', 'scripts', 'skills'].map((name) => `dist/${name}`),
    ...['htmax.js', 'htmax.min.js', 'htmx.esm.js', 'htmx.esm.min.js', 'htmx.js'].map((name) => `dist/${name}`),
  ],
  'markdown-it': ['dist/browser'],
  'neo4j-driver': ['lib/browser'],
  nodemailer: ['dist/cjs'],
  rxjs: ['dist/bundles', 'dist/esm', 'dist/esm5', 'src'],
  tar: ['dist/commonjs'],
  uuid: ['dist/cjs-browser', 'dist/esm-browser'],
  'web-tree-sitter': ['debug'],
  yaml: ['browser'],
};
/** Of parts of packages that no program imports: servers on express, logins by OAuth, a command line. */
const unreadDependencies = {
  '@modelcontextprotocol/sdk': [
    '@hono/node-server',
    'cors',
    'eventsource',
    'express',
    'express-rate-limit',
    'jose',
    'raw-body',
  ],
};

const folders = [...new Set(['kit', ...services])].map((name) => join('services', name));
for (const folder of folders) copy(folder, (path) => !unread.test(path));
copy('config', (path) => /^config(\/[a-z-]+\.json)?$/.test(path));
copy('package.json');

const sources = folders.flatMap((folder) => textsIn(join(root, folder)));
const imported = dependencies.filter((name) => sources.some((text) => isImported(name, text)));
/** What reads repositories, and what colours diffs: they name the grammars that they load. */
const parsed = textsIn(join(root, 'services/context/ingest'));
const coloured = readFileSync(join(root, 'services/kit/diff/highlight.ts'), 'utf8');
const packages = new Set();
for (const name of imported) addPackage(name, root);
for (const folder of [...packages].sort()) {
  const own = relative(root, folder);
  copy(own, (path) => !unread.test(path) && isReadInPackage(own, path.slice(own.length)));
}
open(target);
importAll();
process.stdout.write(`${services.join(', ')}: ${packages.size} packages for ${imported.join(', ')}\n`);

/** To whoever runs the image, whatever the modes are where it is built. */
function open(path) {
  const stats = lstatSync(path);
  if (stats.isSymbolicLink()) return;
  chmodSync(path, stats.isDirectory() || (stats.mode & 0o100) !== 0 ? 0o755 : 0o644);
  if (stats.isDirectory()) for (const name of readdirSync(path)) open(join(path, name));
}

function copy(path, keep = () => true) {
  mkdirSync(dirname(join(target, path)), { recursive: true });
  cpSync(join(root, path), join(target, path), {
    recursive: true,
    filter: (source) => keep(relative(root, source)),
  });
}

/** @param path below the package's folder, with a slash before it */
function isReadInPackage(folder, path) {
  if (path.includes('/node_modules') || unreadInPackages.test(path)) return false;
  const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
  if (name === 'zod' && path.endsWith('.cjs')) return false;
  if ((unreadFolders[name] ?? []).some((unreadFolder) => path === `/${unreadFolder}`)) return false;
  const [, language] = (name === 'highlight.js' && /\/languages\/([^/]+)\.js$/.exec(path)) || [];
  if (language !== undefined) return coloured.includes(`\n  ${language}: '`);
  const [, grammar] = /\/tree-sitter-([a-z-]+)\.wasm$/.exec(path) ?? [];
  return grammar === undefined || parsed.some((text) => text.includes(`'${grammar}'`));
}

function foldersIn(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

function textsIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[jt]s$/.test(entry.name) && !unread.test(entry.name))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
}

function isImported(name, text) {
  return ["'", '`'].some((quote) => text.includes(quote + name + quote) || text.includes(`${quote}${name}/`));
}

/** That nothing is missing that programs load at their start. */
function importAll() {
  const specifiers = sources
    .flatMap((text) => [...text.matchAll(/^import (?!type )[^;]*? from '([^'.#][^']*)';/gm)])
    .map(([, specifier]) => specifier)
    .filter((specifier) => imported.some((name) => specifier === name || specifier.startsWith(`${name}/`)));
  for (const specifier of new Set(specifiers)) {
    const script = `await import(${JSON.stringify(specifier)}); process.exit(0);`;
    execFileSync(process.execPath, ['--input-type=module', '--eval', script], { cwd: target, stdio: 'inherit' });
  }
}

/** With all that it needs, each found as Node finds it: in the nearest node_modules. */
function addPackage(name, from) {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name);
    if (existsSync(found)) {
      if (packages.has(found)) return;
      packages.add(found);
      const { dependencies = {}, peerDependencies = {}, optionalDependencies = {} } = manifest(found);
      const unreadHere = unreadDependencies[name] ?? [];
      for (const next of Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies }))
        if (!unreadHere.includes(next)) addPackage(next, found);
      return;
    }
    if (folder === root || folder === dirname(folder)) return;
  }
}

function manifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

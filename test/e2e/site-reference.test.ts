import { globSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { decode } from '#kit/decode.ts';
import { codecRows } from '../../site/generate/codecs/codec-rows.ts';
import { codecDocs } from '../../site/generate/codecs/doc-comments.ts';
import { leafCommands, programs } from '../../site/generate/commands/programs.ts';
import { allRoutes } from '../../site/generate/endpoints/documents.ts';
import { curl } from '../../site/generate/endpoints/endpoint-section.ts';
import { exampleRequest } from '../../site/generate/endpoints/example-request.ts';
import { services } from '../../site/generate/endpoints/services.ts';
import { generatedPages } from '../../site/generate/pages.ts';
import { concerns } from '../../site/generate/settings/concerns.ts';
import { settingRows } from '../../site/generate/settings/settings-page.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

describe('the generated reference', () => {
  let pages: ReadonlyMap<string, string>;
  before(async () => {
    pages = new Map((await generatedPages()).map(({ path, text }) => [path, text]));
  });

  it('covers every program that has commands', () => {
    const there = globSync('services/*/cli/program.ts', { cwd: root }).map((path) => path.split('/')[1]!);
    const documented = programs.map(({ service }) => service);
    const missing = there.filter((name) => name !== 'kit' && !documented.includes(name));
    expect(missing).to.deep.equal([]);
    expect(documented).to.include.members(['supervisor', 'agentd', 'context', 'bridge']);
  });

  it('names every command with every flag', async () => {
    const page = pages.get('reference/commands.md')!;
    let flags = 0;
    for (const { call, load } of programs) {
      for (const { call: own, command } of leafCommands(await load(), call)) {
        const at = page.indexOf(`### ${own.replace('./', '')}\n`);
        expect(at, own).to.be.greaterThan(-1);
        const end = page.indexOf('\n### ', at + 1);
        const section = page.slice(at, end === -1 ? undefined : end);
        for (const option of command.options) {
          expect(section, own).to.contain(`\`${option.flags.replaceAll('|', '\\|')}\``);
          flags++;
        }
      }
    }
    expect(flags).to.be.greaterThan(80);
  });

  it('covers every service with an HTTP interface', () => {
    const sources = globSync('services/*/**/*.ts', { cwd: root }).filter(
      (file) => !file.endsWith('.test.ts'),
    );
    const withRoutes = sources.filter((file) =>
      readFileSync(`${root}${file}`, 'utf8').includes("from '#kit/http/route.ts'"),
    );
    const there = [...new Set(withRoutes.map((file) => file.split('/')[1]!))];
    expect(there).to.include('agentd');
    const missing = there.filter((name) => name !== 'kit' && !services.some(({ folder }) => folder === name));
    expect(missing, 'add them to site/generate/endpoints/services.ts').to.deep.equal([]);
  });

  it('gives every endpoint a section, a request, and an example of each answer', () => {
    for (const service of services) {
      const page = pages.get(`reference/${service.name}.md`)!;
      for (const route of allRoutes(service)) {
        expect(page).to.contain(`### ${route.method} ${route.path.replaceAll('{', '\\{')}\n`);
        expect(page).to.contain(curl(route, service.port));
      }
      expect(page).to.not.match(/undefined|\[object Object\]/);
    }
  });

  it('gives requests that the codecs of their endpoints accept', () => {
    for (const service of services) {
      for (const route of allRoutes(service)) {
        const { body } = route;
        if (!('codec' in body)) continue;
        const example = exampleRequest(route).body;
        expect(() => decode(body.codec, example, `${route.method} ${route.path}`)).to.not.throw();
      }
    }
  });

  it('covers every configuration file', () => {
    const files = readdirSync(`${root}config`)
      .filter((name) => name.endsWith('.json'))
      .map((name) => name.replace('.json', ''));
    const missing = files.filter((name) => !concerns.some((concern) => concern.name === name));
    expect(missing, 'add them to site/generate/settings/concerns.ts').to.deep.equal([]);
  });

  for (const concern of concerns) {
    it(`knows every key that config/${concern.name}.json ships, with a meaning of its own or of what holds it`, () => {
      const page = pages.get('reference/settings.md')!;
      const rows = codecRows(concern.codec, codecDocs(concern.file, concern.constant));
      const shown = new Map(settingRows(concern).map((row) => [row.path, row]));
      const paths = new Set(rows.map(({ path }) => path));
      for (const key of shippedKeys(
        JSON.parse(readFileSync(`${root}config/${concern.name}.json`, 'utf8')),
        paths,
      ))
        expect(paths.has(key), `${concern.name}: ${key}`).to.equal(true);
      for (const row of shown.values()) {
        expect(page).to.contain(`\`${row.path}\``);
        const selfEvident = /\.(name|model|url|user|input|output|cached|base_url)$/.test(row.path);
        const holder = row.path.replace(/(\.NAME|\[\])?\.[^.]+$/, '');
        const meaning = row.meaning ?? shown.get(holder)?.meaning ?? null;
        if (!selfEvident)
          expect(meaning, `${concern.name}: ${row.path} needs a comment above it`).to.not.equal(null);
      }
    });
  }

  it('has every benchmark on the page of figures', () => {
    const source = readFileSync(`${root}test/bench/run.ts`, 'utf8');
    const [, list = ''] =
      /benchmarks: Readonly<Record<string, Benchmark>> = \{(.*?)\n\};/s.exec(source) ?? [];
    const names = [...list.matchAll(/^ {2}'?([\w-]+)'?[:,]/gm)].map(([, name]) => name!);
    expect(names).to.include.members(['start', 'list-over-http', 'bridge']);
    const page = readFileSync(`${root}site/figures.md`, 'utf8');
    expect(names.filter((name) => !page.includes(`| \`${name}\` |`))).to.deep.equal([]);
  });

  /** Keys of the file, down to where the reader names members. */
  function shippedKeys(value: unknown, known: ReadonlySet<string>, prefix = ''): string[] {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [prefix];
    if ([...known].some((path) => path.startsWith(`${prefix}.NAME`))) return [prefix];
    const members = Object.entries(value);
    if (members.length === 0 && prefix !== '') return [prefix];
    return members.flatMap(([name, member]) =>
      shippedKeys(member, known, prefix === '' ? name : `${prefix}.${name}`),
    );
  }
});

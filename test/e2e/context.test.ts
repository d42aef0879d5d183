import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { execa } from 'execa';
import { createToken } from '#kit/tokens/tokens.ts';
import { makeRepository } from '../fixtures/repositories/repository.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';
import { type Answer, type ContextProcess, startContext } from './context-process.ts';

describe('core-context over HTTP', () => {
  let home: string;
  let service: ContextProcess;
  let reader: string;
  let planner: string;
  // biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
  let description: any;

  before(async () => {
    home = temporaryFolder();
    const repository = await makeRepository({
      'src/greet.js': 'export function greetStranger(name) {\n  return "Hello " + name;\n}\n',
      'src/main.js': "import { greetStranger } from './greet.js';\ngreetStranger('Mira');\n",
      'README.md': '# Greetings\n\nThe function `greetStranger` greets people by name.\n',
    });
    mkdirSync(join(home, 'config'), { recursive: true });
    writeFileSync(
      join(home, 'config/context.json'),
      JSON.stringify({ repositories: { 'demo/hello': repository.dir } }),
    );
    const folders = { tokens: join(home, 'config/tokens') };
    reader = createToken(folders, { name: 'reader', scopes: ['read'] }).text;
    planner = createToken(folders, { name: 'planner', scopes: ['read', 'plan'] }).text;
    service = await startContext(home);
    description = (await service.get('/v1/openapi.json')).json;
  });
  after(() => service?.stop());

  function problem(answer: Answer, status: number, code: string, pointer?: string): void {
    expect([answer.status, answer.json?.code], answer.text).to.deep.equal([status, code]);
    expect(answer.headers.get('content-type')).to.contain('application/problem+json');
    if (pointer !== undefined)
      expect(answer.json.errors.map((error: { pointer: string }) => error.pointer)).to.include(pointer);
  }

  it('reads the configured repositories by itself', async () => {
    await until(
      'the first reading',
      async () => (await service.get('/v1/admin/refresh')).json?.state === 'done',
    );
    const { json } = await service.get('/v1/repositories');
    expect(json.repositories).to.have.length(1);
    expect(json.repositories[0]).to.include({ repository: 'demo/hello', files: 3, complete: true });
  });

  it('finds by text and says where it looked', async () => {
    const { status, json } = await service.ask(
      'POST',
      '/v1/graphrag/search',
      { query: 'greet a stranger' },
      { token: null },
    );
    expect(status).to.equal(200);
    expect(json).to.include({ source: 'record' });
    expect(json.results.map(({ path }: { path: string }) => path)).to.include('src/greet.js');
    expect(json.results[0]).to.include.keys('id', 'kind', 'title', 'snippet', 'score', 'why');
  });

  it('remembers, looks up, forgets, exports and imports', async () => {
    const body = {
      layer: 'semantic',
      content: 'Strangers are greeted politely.',
      about: ['file:demo/hello:src/greet.js'],
      source: 'mira',
      key: 'politeness',
    };
    const first = await service.post('/v1/memory/record', body);
    expect([first.status, first.json.created], first.text).to.deep.equal([201, true]);
    const again = await service.post('/v1/memory/record', body);
    expect([again.status, again.json.id]).to.deep.equal([200, first.json.id]);
    const found = await service.post('/v1/memory/lookup', {
      query: 'greeted politely',
      layer: 'semantic',
      limit: 5,
    });
    expect(found.json.results.map(({ id }: { id: string }) => id)).to.deep.equal([first.json.id]);
    expect((await service.get(`/v1/memory/${first.json.id}`)).json.content).to.equal(body.content);
    const exported = await service.get('/v1/memory/export');
    expect(exported.headers.get('content-type')).to.equal('application/jsonl');
    const gone = await service.post('/v1/memory/forget', { id: first.json.id, reason: 'asked' });
    expect(gone.json).to.include({ forgotten: 1 });
    problem(await service.get(`/v1/memory/${first.json.id}`), 404, 'memory_forgotten');
    const types = { type: 'application/jsonl' };
    const skipped = await service.ask('POST', '/v1/memory/import', exported.text, types);
    expect(skipped.json, skipped.text).to.include({ lines: 1, created: 0, skipped_forgotten: 1 });
    const forced = await service.ask('POST', '/v1/memory/import?force=true', exported.text, types);
    expect(forced.json).to.include({ created: 1 });
    problem(
      await service.ask('POST', '/v1/memory/import', '{"id":1}\n', types),
      400,
      'memory_import_invalid',
      '/1',
    );
    problem(
      await service.ask('POST', '/v1/memory/import?force=yes', '', types),
      400,
      'invalid_query',
      '/force',
    );
    problem(
      await service.ask('POST', '/v1/memory/import', '{}', { type: 'text/html' }),
      415,
      'content_type_not_supported',
    );
  });

  it('keeps a playbook and how often it worked', async () => {
    const { json } = await service.post('/v1/memory/record', {
      layer: 'procedural',
      content: 'Release a version',
      steps: ['run the tests', 'tag it'],
    });
    const counted = await service.post('/v1/memory/outcome', { id: json.id, worked: true, run: 'run_1' });
    expect(counted.json).to.deep.equal({ id: json.id, worked: 1, failed: 0 });
  });

  it('answers Cypher with columns and rows, and writes nothing by it', async () => {
    const query = 'MATCH (f:CoreEntity {kind: $kind}) RETURN f.path AS path ORDER BY path';
    const { json, text } = await service.post('/v1/graphdb/cypher', {
      query,
      params: { kind: 'file' },
      limit: 1,
    });
    expect(json, text).to.deep.include({ columns: ['path'], truncated: true, engine: 'grafeo' });
    expect(json.rows).to.deep.equal([{ path: 'src/greet.js' }]);
    problem(
      await service.post('/v1/graphdb/cypher', { query: 'MATCH (n) DETACH DELETE n' }),
      422,
      'cypher_read_only',
    );
    problem(await service.post('/v1/graphdb/cypher', { query: 'MATC (n) RETURN n' }), 400, 'cypher_invalid');
  });

  it('checks itself, and makes indexes and projection again', async () => {
    const checked = await service.get('/v1/admin/check');
    expect(checked.json, checked.text).to.deep.include({ ok: true });
    expect(checked.json.graph).to.deep.include({ engine: 'grafeo', ok: true, differences: [] });
    const rebuilt = await service.post('/v1/admin/refresh', { rebuild: true });
    expect(rebuilt.json).to.deep.include({
      state: 'done',
      rebuilt: ['text index', 'memory index', 'history of changes', 'graph in grafeo'],
    });
    const { json } = await service.post('/v1/graphrag/search', { query: 'greetStranger' });
    expect(json.results[0].path).to.be.oneOf(['src/greet.js', 'README.md', 'src/main.js']);
  });

  it('refreshes by name, by path, and reports its progress', async () => {
    const named = await service.post('/v1/admin/refresh', { repositories: ['hello'] });
    expect(named.json.repositories[0], named.text).to.include({
      repository: 'demo/hello',
      read: 0,
      unchanged: 3,
    });
    const other = await makeRepository({ 'a.py': 'def alpha():\n    return 1\n' });
    const begun = await service.post('/v1/admin/refresh', {
      repositories: [{ name: 'demo/other', path: other.dir }],
      wait: false,
    });
    expect(begun.status).to.be.oneOf([200, 202]);
    const json = await until('its end', async () => {
      const { json } = await service.get(`/v1/admin/refresh?id=${begun.json.id}`);
      return json.state !== 'running' && json;
    });
    expect(json).to.include({ state: 'done' });
    expect(json.repositories[0]).to.include({ repository: 'demo/other', files: 1 });
    problem(
      await service.post('/v1/admin/refresh', { repositories: ['nobody/knows'] }),
      404,
      'repository_unknown',
    );
    problem(await service.get('/v1/admin/refresh?id=refresh_99'), 404, 'refresh_not_found');
    const empty = await service.post('/v1/admin/refresh', {
      repositories: [{ name: 'demo/none', path: temporaryFolder() }],
    });
    expect(empty.json.repositories[0].error.detail).to.be.a('string');
  });

  it('is found by the commands of its state folder, which print the ids that --about takes', async () => {
    const program = fileURLToPath(new URL('../../bin/core-context', import.meta.url));
    const run = (...args: string[]) => execa(program, [...args, '--home', home]);
    const { stdout } = await run('search', 'greetStranger');
    const [id] = /^ +((symbol|file|section|document):demo\/hello:\S+)$/m.exec(stdout) ?? [];
    expect(id, stdout).to.be.a('string');
    const { stdout: said } = await run('remember', 'Strangers', 'are', 'fine', '--about', id!.trim());
    expect(said).to.match(/^remembered as memory:/);

    const memory = said.replace('remembered as ', '').trim();
    await run('forget', memory, '--yes');
    expect((await run('forget', memory, '--yes')).stdout).to.equal(`${memory} was forgotten before.`);
    const file = join(temporaryFolder(), 'memory.jsonl');
    await run('export', file);
    const second = await execa(program, ['export', file, '--home', home], { reject: false });
    expect([second.exitCode !== 0, second.stderr]).to.satisfy(
      ([failed, text]: [boolean, string]) =>
        failed && text.includes('file_exists') && text.includes('--force'),
      second.stderr,
    );
    await run('export', file, '--force');
  });

  it('names a path as planning does if a remote identifies it', async () => {
    const other = makeRepository({ 'b.py': 'def beta():\n    return 1\n' });
    other.git('remote', 'add', 'core', join(home, 'state/forge/you/thing/repository.git'));
    const { json, text } = await service.post('/v1/admin/refresh', { repositories: [other.dir] });
    expect(json.repositories[0], text).to.include({ repository: 'local/you/thing', files: 1 });
    const again = await service.post('/v1/admin/refresh', { repositories: [other.dir] });
    expect(again.json.repositories[0], again.text).to.include({ repository: 'local/you/thing', read: 0 });
  });

  const bodies: readonly (readonly [string, unknown, string])[] = [
    ['/v1/graphrag/search', { query: 'x', limit: 0 }, '/limit'],
    ['/v1/graphrag/search', { query: 'x', limit: 101 }, '/limit'],
    ['/v1/graphrag/search', { query: 'x', limit: 1.5 }, '/limit'],
    ['/v1/graphrag/search', { query: 'x', limit: '10' }, '/limit'],
    ['/v1/graphrag/search', { query: '' }, '/query'],
    ['/v1/graphrag/search', { query: ' \n' }, '/query'],
    ['/v1/graphrag/search', {}, '/query'],
    ['/v1/graphrag/search', { query: 'x'.repeat(900_000) }, '/query'],
    ['/v1/graphrag/search', { query: 'x', kinds: ['planet'] }, '/kinds/0'],
    ['/v1/graphrag/search', { query: 'x', as_of: 'yesterday' }, '/as_of'],
    ['/v1/graphrag/search', { query: 'x', filter: 1 }, '/filter'],
    ['/v1/memory/lookup', { query: 'x', layer: 'visual' }, '/layer'],
    ['/v1/memory/lookup', { query: 'x', limit: 0 }, '/limit'],
    ['/v1/memory/record', { layer: 'visual', content: 'x' }, '/layer'],
    ['/v1/memory/record', { layer: 'semantic', content: 'a\0b' }, '/content'],
    ['/v1/graphdb/cypher', { query: 'RETURN 1 AS one', limit: 10_001 }, '/limit'],
    ['/v1/graphdb/cypher', { query: '' }, '/query'],
    ['/v1/admin/refresh', { full: 'yes' }, '/full'],
  ];
  for (const [path, body, pointer] of bodies) {
    it(`refuses ${JSON.stringify(body).slice(0, 50)} at ${path}, naming ${pointer}`, async () => {
      problem(await service.post(path, body), 400, 'invalid_input', pointer);
    });
  }

  it('refuses a body of more than 1 MiB, and one that is no JSON', async () => {
    problem(
      await service.post('/v1/graphrag/search', { query: 'x'.repeat(1_100_000) }),
      413,
      'body_too_large',
    );
    problem(await service.post('/v1/graphrag/search', '{"query":'), 400, 'invalid_json');
  });

  it('takes every text for text', async () => {
    const texts = [
      '"a" AND (b OR c*) NEAR(d e)',
      'MATCH (n) DETACH DELETE n',
      "'; DROP TABLE nodes; --",
      'a\0b',
      '\ud800 lone',
      '😀',
      '*',
      '^:-"',
    ];
    for (const query of texts) {
      const found = await service.post('/v1/graphrag/search', { query });
      expect(found.status, `${JSON.stringify(query)}: ${found.text}`).to.equal(200);
      const looked = await service.post('/v1/memory/lookup', { query });
      expect(looked.status, `${JSON.stringify(query)}: ${looked.text}`).to.equal(200);
    }
  });

  it('refuses a memory about what it does not know, naming it', async () => {
    const answer = await service.post('/v1/memory/record', {
      layer: 'semantic',
      content: 'It is green.',
      about: ['file:demo/hello:src/gret.js'],
    });
    problem(answer, 422, 'entity_unknown', '/about/0');
  });

  it('calls the source of a memory by its token, whatever the caller says', async () => {
    const source = async (options: { token?: string }, named?: string) => {
      const memory = { layer: 'semantic', content: `Said by ${options.token} as ${named}.`, source: named };
      const { json, text } = await service.ask('POST', '/v1/memory/record', memory, options);
      return (await service.get(`/v1/memory/${json.id}`)).json?.source ?? text;
    };
    const own = (await service.get('/v1/token')).json.name;
    expect(await source({})).to.equal(own);
    expect(await source({}, own)).to.equal(own);
    expect(await source({}, 'mcp:other')).to.equal(`${own}/mcp:other`);
    expect(await source({ token: planner })).to.equal('token:planner');
    expect(await source({ token: planner }, own)).to.equal(`token:planner/${own}`);
    const long = { layer: 'semantic', content: 'Long.', source: 'x'.repeat(495) };
    problem(
      await service.ask('POST', '/v1/memory/record', long, { token: planner }),
      400,
      'invalid_input',
      '/source',
    );
  });

  it('lets nobody change anything without the scope for it', async () => {
    const memory = { layer: 'semantic', content: 'Scopes are checked.' };
    problem(await service.ask('POST', '/v1/memory/record', memory, { token: null }), 401, 'token_required');
    problem(await service.ask('POST', '/v1/memory/record', memory, { token: reader }), 403, 'scope_missing');
    const recorded = await service.ask('POST', '/v1/memory/record', memory, { token: planner });
    expect(recorded.status).to.equal(201);
    for (const [path, body] of [
      ['/v1/memory/forget', { id: recorded.json.id }],
      ['/v1/admin/refresh', { rebuild: true }],
      ['/v1/admin/refresh', { repositories: ['/etc'] }],
      ['/v1/admin/refresh', { repositories: [{ name: 'a/b', path: '/etc' }] }],
    ] as const)
      problem(await service.ask('POST', path, body, { token: planner }), 403, 'scope_missing');
    const refreshed = await service.ask(
      'POST',
      '/v1/admin/refresh',
      { repositories: ['demo/hello'] },
      { token: planner },
    );
    expect(refreshed.status).to.equal(200);
  });

  it('describes every route as it answers', async () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    const paths = Object.keys(description.paths);
    expect(paths).to.include.members([
      '/healthz',
      '/v1/admin/refresh',
      '/v1/graphrag/search',
      '/v1/memory/lookup',
      '/v1/memory/record',
      '/v1/graphdb/cypher',
      '/v1/execution/plan',
      '/v1/execution/outcome',
      '/v1/execution/score',
      '/v1/repositories',
    ]);
    for (const path of ['/healthz', '/v1/repositories', '/v1/admin/refresh', '/v1/admin/check']) {
      const { json } = await service.get(path);
      const { schema } = description.paths[path].get.responses[200].content['application/json'];
      const validate = ajv.compile({ ...schema, components: description.components });
      expect(validate(json), `${path}: ${JSON.stringify(validate.errors)}`).to.equal(true);
    }
  });

  it('says how it is, and never a token', async () => {
    const { json } = await service.get('/healthz');
    expect(json.service).to.equal('core-context');
    expect(Object.keys(json.checks)).to.include.members([
      'record',
      'disk',
      'text_index',
      'cypher',
      'repositories',
    ]);
    expect(service.said()).to.not.contain(planner).and.not.contain(reader);
  });
});

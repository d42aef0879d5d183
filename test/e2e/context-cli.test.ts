import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { execa } from 'execa';
import { makeRepository } from '../fixtures/repositories/repository.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { makeSelfSigned } from '../fixtures/self-signed.ts';
import { useCommandHost } from '../fixtures/world/command-host.ts';
import { describeWith } from '../needs.ts';
import { type ContextProcess, startContext } from './context-process.ts';

const program = fileURLToPath(new URL('../../bin/core-context', import.meta.url));
const core = fileURLToPath(new URL('../../core', import.meta.url));

describe('The commands of core-context', () => {
  const host = useCommandHost({});
  let home: string;
  let service: ContextProcess;
  let repository: ReturnType<typeof makeRepository>;
  const deep = `src/${'deeper/'.repeat(12)}greet.js`;

  before(async () => {
    home = temporaryFolder();
    repository = makeRepository({
      [deep]: 'export function greetStranger(name) {\n  return "Hello " + name;\n}\n',
      'README.md': '# Greetings\n\nThe function `greetStranger` greets people by name.\n',
    });
    service = await startContext(home);
  });
  after(() => service?.stop());

  async function run(...args: string[]) {
    const { code, ...output } = await host.run(['context', ...args, '--home', home]);
    return { exitCode: code, ...output };
  }

  it('read a repository and wait until Cypher knows it too', async () => {
    const { stdout, stderr, exitCode } = await run(
      'refresh',
      repository.dir,
      '--name',
      'demo/hello',
      '--wait',
    );
    expect(exitCode, stderr).to.equal(0);
    expect(stdout).to.include('demo/hello @ ').and.not.include('behind');
    const { json } = await service.get('/healthz');
    expect(json.checks.cypher.detail).to.not.include('behind');
    const files = await run(
      'cypher',
      "MATCH (f:CoreEntity {kind: 'file'}) RETURN f.path AS path, f.id AS id",
    );
    expect(files.stdout).to.include(`file:demo/hello:${deep}`);
  });

  it('say that Cypher is behind what was read', async () => {
    repository.commit({ 'a.py': 'def alpha():\n    return 1\n' }, 'Add alpha');
    const { stdout } = await run('refresh', 'demo/hello');
    const { json } = await service.get('/healthz');
    if (json.checks.cypher.detail.includes('behind'))
      expect(stdout).to.match(/Cypher \(grafeo\) is \d+ changes? behind: .*; --wait waits for it/);
    expect((await run('refresh', 'demo/hello', '--wait')).stdout).to.not.include('behind');
    const { stdout: rows } = await run(
      'cypher',
      "MATCH (f:CoreEntity {path: 'a.py', kind: 'file'}) RETURN f",
    );
    expect(rows).to.include('(:CoreEntity file:demo/hello:a.py)');
  });

  it('make everything again, and refuse a name for it', async () => {
    const named = await run('refresh', '--rebuild', 'demo/hello');
    expect(named.exitCode).to.equal(2);
    expect(named.stderr).to.include('"demo/hello"').and.include('--full');
    const { stdout, exitCode } = await run('refresh', '--rebuild');
    expect(exitCode).to.equal(0);
    expect(stdout).to.include('made again  text index');
  });

  it('show when a fact ended, to the minute, and the day alone where that was said', async () => {
    const fact = ['--subject', 'release', '--predicate', 'day'];
    await run('remember', 'Releases are on Tuesdays', ...fact);
    await run('remember', 'Releases are on Thursdays', ...fact);
    const body = { layer: 'semantic', content: 'Releases began', valid_from: '2026-01-01T00:00:00Z' };
    await service.post('/v1/memory/record', body);
    const { stdout } = await run('lookup', 'releases');
    expect(stdout).to.match(/semantic {2}\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?Z\n {6}memory:/);
    expect(stdout).to.match(/semantic {2}2026-01-01\n {6}memory:/);
  });

  it('look up what a source said in any of several sessions, with keys', async () => {
    const said = (session: string, text: string, ...options: string[]) =>
      run('remember', text, '--layer', 'episodic', '--session', session, ...options);
    await said('morning', 'The lighthouse blinks', '--source', 'mira', '--key', 'light-1');
    await said('noon', 'The lighthouse hums', '--source', 'mira');
    await said('night', 'The lighthouse sleeps', '--source', 'mira');
    await said('night', 'The lighthouse rests', '--source', 'jo');
    const own = (await service.get('/v1/token')).json.name;
    const sessions = ['--session', 'morning', '--session', 'night'];
    const { stdout } = await run('lookup', 'lighthouse', ...sessions, '--source', `${own}/mira`);
    expect(stdout).to.include('lighthouse blinks').and.include('key light-1');
    expect(stdout).to.include('lighthouse sleeps');
    expect(stdout).to.not.include('hums').and.not.include('rests');
  });

  it('hint at one repository under two names', async () => {
    expect((await run('repositories')).stdout).to.not.include('same commit');
    await run('refresh', repository.dir, '--name', 'demo/again');
    expect((await run('repositories')).stdout).to.match(
      /demo\/again and demo\/hello have the same commit: one repository under several names\?/,
    );
  });
});

describeWith(['openssl'], 'core-context with TLS', () => {
  it('answers its commands and doctor', async () => {
    const home = temporaryFolder();
    mkdirSync(join(home, 'config'), { recursive: true });
    const tls = makeSelfSigned(home);
    const certificate = tls.certificate_file;
    writeFileSync(join(home, 'config/context.json'), JSON.stringify({ tls }));
    const service = await startContext(home, { certificate });
    try {
      const env = { NODE_EXTRA_CA_CERTS: certificate };
      const said = await execa(program, ['remember', 'Trust', 'me', '--home', home], { env });
      expect(said.stdout).to.match(/^remembered as memory:/);
      const distrusted = await execa(program, ['lookup', 'trust', '--home', home], { reject: false });
      expect(distrusted.exitCode).to.not.equal(0);
      const { stdout } = await execa(core, ['doctor', '--home', home, '--json'], { reject: false });
      const { port } = new URL(service.url);
      const { findings } = JSON.parse(stdout) as { findings: { name: string }[] };
      expect(findings.find(({ name }) => name === `port ${port}`)).to.include({
        state: 'works',
        detail: 'listens with TLS on 127.0.0.1',
      });
    } finally {
      expect(await service.stop()).to.equal(0);
    }
  });
});

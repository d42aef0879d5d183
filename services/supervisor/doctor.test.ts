import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough, Writable } from 'node:stream';
import { expect } from 'chai';
import { announceService } from '#kit/config/running-service.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { startGiteaServer } from '../../test/fixtures/forges/gitea-server.ts';
import { displayWith } from '../../test/fixtures/terminal/display.ts';
import { itWith } from '../../test/needs.ts';
import { doctor, examine, type Finding } from './doctor.ts';
import { checkBus, checkEnginePorts, checkSchedules, checkWebhookSecrets } from './health-checks/bus.ts';
import { checkCypher } from './health-checks/cypher.ts';
import { checkElsewhere } from './health-checks/elsewhere.ts';
import { checkModels, checkPort } from './health-checks/installation.ts';
import { checkNotifications } from './health-checks/notifications.ts';
import { checkNode, checkToolPaths } from './health-checks/programs.ts';
import { checkAgents, checkForges } from './health-checks/services.ts';

describe('core doctor', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'core-doctor-'));
    mkdirSync(join(home, 'config/secrets'), { recursive: true, mode: 0o700 });
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const folders = () => resolveFolders({ home }, environment);

  async function found(name: string): Promise<Finding | undefined> {
    return (await examine(folders())).find((finding) => finding.name.startsWith(name));
  }

  async function forgeWork(): Promise<Finding | undefined> {
    return (await checkForges(folders())).find(({ name }) => name === 'forge work');
  }

  async function run(json: boolean): Promise<{ code: number; text: string }> {
    let text = '';
    const stdout = new Writable({
      write(chunk, _encoding, done) {
        text += chunk;
        done();
      },
    });
    return { code: await doctor({ home, json, stdout, display: displayWith() }), text };
  }

  it('says of each configured coding agent whether it works, and what to do', async () => {
    const agents = { mine: { command: ['/no/such/agent'] } };
    writeFileSync(join(home, 'config/agents.json'), JSON.stringify({ agents }));
    expect((await checkAgents(folders()))[0]).to.deep.equal({
      name: 'agent mine',
      state: 'warning',
      detail: 'agent mine: /no/such/agent is not installed',
      fix: 'correct agents.mine.command in agents.json',
    });
  });

  it('asks the core-context that clients are given, at whatever address that is', async () => {
    let answer: object = {};
    const server = createHttpServer((_, response) => response.end(JSON.stringify(answer)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    const file = join(home, 'config/core.json');
    writeFileSync(file, JSON.stringify({ context: { url: `${url}/` } }));
    const answers = async (health: object) => {
      answer = health;
      return (await checkElsewhere(folders()))[0]!;
    };
    try {
      const health = { status: 'ok', service: 'core-context', version: '1', checks: {} };
      expect(await answers(health)).to.deep.equal({
        ...{ name: 'core-context', state: 'works', fix: null },
        detail: `core-context 1 (ok) answers clients at ${url} (${file})`,
      });
      const checks = { active: { status: 'ok', detail: 'core-context is active on a' } };
      const standby = await answers({ ...health, status: 'standby', checks });
      expect([standby.state, standby.detail]).to.deep.equal([
        'warning',
        `core-context 1 (standby) answers clients at ${url} (${file}); active: core-context is active on a`,
      ]);
      const slow = { queue: { status: 'degraded', detail: '9 wait' } };
      const degraded = await answers({ ...health, status: 'degraded', checks: slow });
      expect([degraded.state, degraded.detail]).to.deep.equal([
        'warning',
        `core-context 1 (degraded) answers clients at ${url} (${file}); queue: 9 wait`,
      ]);
      const other = await answers({ ...health, service: 'core-bridge' });
      expect(other.detail).to.equal(`clients ask ${url} (${file}), where core-bridge 1 (ok) answers`);
      server.close();
      server.closeAllConnections();
      const [gone] = await checkElsewhere(folders());
      expect([gone!.state, gone!.detail]).to.deep.equal([
        'warning',
        `clients ask ${url} (${file}), where nothing answers`,
      ]);
    } finally {
      server.close();
    }
    writeFileSync(file, JSON.stringify({ context: { url: 'http://127.0.0.1:8090' } }));
    expect(await checkElsewhere(folders())).to.deep.equal([]);
  });

  it('checks the folders of tools that validations see', async () => {
    const put = (path: string) =>
      writeFileSync(join(home, 'config/validation.json'), JSON.stringify({ tool_paths: [path] }));
    const check = () => checkToolPaths(folders());
    expect(await check()).to.include({ state: 'works' });
    put(home);
    expect(await check()).to.include({ state: 'broken' });
    expect((await check()).detail).to.contain('which sandboxed code never sees');
    put(join(home, 'nothing'));
    expect((await check()).detail).to.contain('is not a folder on this machine');
    expect((await check()).fix).to.contain('~/.cargo/bin');
  });

  it('never calls the port of a halted service free, nor the service gone', async function () {
    if (process.platform !== 'linux') this.skip();
    const listens = `const server = require('node:http').createServer(() => {});
      server.listen(0, '127.0.0.1', () => console.log(server.address().port))`;
    const child = spawn(process.execPath, ['-e', listens], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const [line] = await once(createInterface(child.stdout), 'line');
      child.kill('SIGSTOP');
      const agentd = { port: Number(line) };
      writeFileSync(join(home, 'config/core.json'), JSON.stringify({ agentd, answers: { seconds: 1 } }));
      const finding = await found(`port ${agentd.port}`);
      expect(finding).to.include({ state: 'broken' });
      expect(finding!.detail).to.match(
        new RegExp(`^taken on 127\\.0\\.0\\.1 by .*pid ${child.pid}.*did not answer within 1 s$`),
      );
      const url = `http://127.0.0.1:${agentd.port}`;
      const note = announceService('core-agentd', folders(), { url, host: '127.0.0.1', ...agentd });
      expect(await found(`port ${agentd.port}`)).to.include({ state: 'warning' });
      note.withdraw();
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('warns of a service that is degraded, beside why', async () => {
    const checks = { models: { status: 'degraded', detail: 'no model is configured' } };
    const health = { status: 'degraded', service: 'core-model-gateway', version: '1', checks };
    const server = createHttpServer((_, response) => response.end(JSON.stringify(health)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as { port: number };
    const running = { url: `http://127.0.0.1:${port}`, host: '127.0.0.1', port, where: '' };
    try {
      expect(await checkPort(running, { running, setting: '', folders: folders() })).to.deep.equal({
        ...{ name: `port ${port}`, state: 'warning', fix: null },
        detail: 'core-model-gateway 1 (degraded) answers on 127.0.0.1; models: no model is configured',
      });
    } finally {
      server.close();
    }
  });

  it('counts the checks that ended where standard error is a terminal, and only there', async () => {
    const shown = async (isTTY: boolean) => {
      const moves = { cursorTo: () => true, moveCursor: () => true, clearLine: () => true };
      const stream = Object.assign(new PassThrough(), { isTTY, columns: 80, ...moves });
      let text = '';
      stream.on('data', (chunk) => {
        text += chunk;
      });
      const stdout = new PassThrough().resume() as unknown as NodeJS.WritableStream;
      const stderr = stream as unknown as NodeJS.WriteStream;
      await doctor({ home, stdout, stderr, display: displayWith() });
      return text;
    };
    expect(await shown(true)).to.match(/checks .* 0\/\d\d/);
    expect(await shown(false)).to.equal('');
  });

  it('finds Node and git, which this test runs on, and every folder', async () => {
    const { text } = await run(true);
    const { findings } = JSON.parse(text) as { findings: Finding[] };
    const states = Object.fromEntries(findings.map(({ name, state }) => [name, state]));
    expect(states).to.include({
      Node: 'works',
      git: 'works',
      settings: 'works',
      'state folder': 'works',
      tokens: 'works',
    });
    expect(findings.map(({ name }) => name)).to.include.members([
      'jj',
      'sandbox',
      'memory limit',
      'Docker',
      'models',
      'bus',
      'schedules',
      'notifications',
      'Grafeo',
      'forge github',
      'agents',
    ]);
  });

  it('names the configured models, and how to configure one', async () => {
    expect(checkModels(folders())).to.include({ name: 'models', state: 'missing', fix: './core model add' });
    const upstreams = [{ kind: 'openai', base_url: 'http://127.0.0.1:1/v1', model: 'x' }];
    const models = { big: { tier: 'large', upstreams }, other: { upstreams } };
    writeFileSync(join(home, 'config/models.json'), JSON.stringify({ models }));
    expect(checkModels(folders()).detail).to.contain('big (large), other');
    const keyed = { upstreams: [{ ...upstreams[0], credential: 'absent-key' }] };
    writeFileSync(join(home, 'config/models.json'), JSON.stringify({ models: { ...models, keyed } }));
    const lacking = checkModels(folders());
    expect(lacking.state).to.equal('warning');
    expect(lacking.detail).to.contain('absent-key is missing in ');
  });

  it('names a broken setting with its fix, and fails', async () => {
    writeFileSync(join(home, 'config/core.json'), '{"agentd":{"port":"many"}}');
    const { code, text } = await run(false);
    expect(code).to.equal(1);
    expect(text).to.match(/broken +settings .*core\.json: \/agentd\/port is "many": must be an integer/);
    expect(text).to.contain('do  Correct ');
  });

  itWith(
    ['time'],
    'asks every service whether it understands its files, and shows all that they say',
    async () => {
      const { findings } = JSON.parse((await run(true)).text) as { findings: Finding[] };
      const of = (all: readonly Finding[]) => all.filter(({ name }) => name === 'configuration');
      expect(of(findings)).to.have.lengthOf(1);
      expect(of(findings)[0]).to.include({ state: 'works', fix: null });
      const put = (name: string, value: unknown) =>
        writeFileSync(join(home, 'config', `${name}.json`), JSON.stringify(value));
      put('agents', {
        roles: [{ name: 'Gardener', key: 'default', purpose: 'x', may_propose: ['comment_isue'] }],
      });
      put('forges', { forges: [{ name: 'tea', kind: 'gittea', base_url: 'http://127.0.0.1:9' }] });
      put('bridge', { ingress: { github: { actions: ['open'] } }, sync: { dashboards: 'none' } });
      const { code, text } = await run(true);
      expect(code).to.equal(1);
      const broken = (JSON.parse(text) as { findings: Finding[] }).findings.filter(
        ({ state }) => state === 'broken',
      );
      const said = of(broken)
        .map(({ detail }) => detail)
        .join('\n');
      expect(said)
        .to.contain('/roles/0/prompt is missing')
        .and.contain('/roles/0/may_propose/0 is "comment_isue"');
      expect(said).to.contain('/forges/0/kind is "gittea"').and.contain('core-agentd would not start');
      expect(broken.find(({ name }) => name === 'forges')?.detail).to.contain('gittea');
      put('forges', { forges: [{ name: 'local', kind: 'local' }] });
      put('agents', {});
      const { text: later } = await run(false);
      expect(later).to.match(
        /broken +configuration .*bridge\.json: \/ingress\/github\/actions\/0 is "open": must be one of opened/,
      );
      expect(later).to.contain('/sync/dashboards is "none"').and.contain('(core-bridge would not start)');
    },
  );

  it('says who has the port of the daemon', async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const { port } = server.address() as { port: number };
      writeFileSync(join(home, 'config/core.json'), JSON.stringify({ agentd: { port } }));
      expect(await found('port')).to.include({ name: `port ${port}`, state: 'broken' });
    } finally {
      server.close();
    }
  });

  it('finds services of the state folder wherever they listen, with TLS too', async () => {
    const answer = { status: 'ok', service: 'core-agentd', version: '9.9.9', checks: {} };
    const plain = createHttpServer((_request, response) => response.end(JSON.stringify(answer)));
    const closed = createServer((socket) => socket.destroy());
    const ports = await Promise.all(
      [plain, closed].map(async (server) => {
        server.listen(0, '127.0.0.1');
        await once(server, 'listening');
        return (server.address() as { port: number }).port;
      }),
    );
    const host = '127.0.0.1';
    const notes = [
      announceService('core-agentd', folders(), { url: `http://${host}:${ports[0]}`, host, port: ports[0]! }),
      announceService('core-context', folders(), {
        url: `https://${host}:${ports[1]}`,
        host,
        port: ports[1]!,
      }),
    ];
    try {
      expect(await found(`port ${ports[0]}`)).to.include({
        state: 'works',
        detail: 'core-agentd 9.9.9 (ok) answers on 127.0.0.1',
      });
      expect(await found(`port ${ports[1]}`)).to.include({
        state: 'works',
        detail: 'listens with TLS on 127.0.0.1',
      });
      for (const note of notes) note.withdraw();
      expect(await found(`port ${ports[0]}`)).to.equal(undefined);
    } finally {
      plain.close();
      closed.close();
    }
  });

  it('says which engine answers Cypher', async () => {
    expect((await checkCypher(folders())).detail).to.match(/^\d+\.\d+\.\d+, for Cypher without a server$/);
    const configured = (neo4j: unknown) =>
      writeFileSync(join(home, 'config/context.json'), JSON.stringify({ neo4j }));
    configured({ url: 'bolt://127.0.0.1:9', user: 'neo4j', password_file: 'x', database: 'neo4j' });
    expect(await checkCypher(folders())).to.deep.include({
      name: 'Neo4j',
      state: 'warning',
      fix: 'Start it, or correct neo4j in context.json.',
    });
    configured({ url: 7 });
    expect(await checkCypher(folders())).to.include({
      name: 'Cypher',
      state: 'broken',
      fix: 'Correct context.json.',
    });
  });

  it('says where the bus is, what waits without it, and when schedules are due', async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const url = `ws://127.0.0.1:${port}`;
    const configured = (bus: unknown) => writeFileSync(join(home, 'config/bus.json'), JSON.stringify(bus));
    try {
      configured({ url });
      expect(await checkBus(folders())).to.include({
        state: 'works',
        detail: `another engine at ${url} accepts connections`,
      });
    } finally {
      server.close();
      await once(server, 'close');
    }
    expect(await checkBus(folders())).to.include({
      state: 'warning',
      fix: 'Start it, or correct the address: url in bus.json, or CORE_BUS_URL.',
    });
    expect(await checkEnginePorts(folders()), 'ports that are left to another engine').to.deep.equal([]);
    configured({ port });
    expect(await found(`port ${port}`)).to.include({ state: 'works' });
    expect((await checkBus(folders())).detail).to.contain(
      `our own engine does not run (${url}): events wait`,
    );
    configured({ url: 'http://127.0.0.1' });
    expect(await checkBus(folders())).to.include({ state: 'broken' });

    const schedule = { name: 'nightly', cron: '30 6 * * *', zone: 'Europe/Berlin', owner: 'a', repo: 'b' };
    const planned = (...schedules: unknown[]) =>
      writeFileSync(join(home, 'config/schedules.json'), JSON.stringify({ schedules }));
    planned(schedule, { ...schedule, name: 'never', enabled: false });
    expect(checkSchedules(folders()).detail).to.match(/^nightly: next \d{4}-\d\d-\d\dT0[45]:30:00.000Z$/);
    planned({ ...schedule, cron: 'daily' });
    expect(checkSchedules(folders())).to.include({ state: 'broken', fix: 'Correct schedules.json.' });
  });

  it('names a secret of webhooks that is too short, with the rule and what to do', () => {
    mkdirSync(folders().secrets, { recursive: true });
    const file = join(folders().secrets, 'github-webhook');
    expect(checkWebhookSecrets(folders()).map(({ state }) => state)).to.not.include('broken');
    writeFileSync(file, 'hunter2\n');
    const [found, ...more] = checkWebhookSecrets(folders());
    expect(more).to.deep.equal([]);
    expect(found).to.include({ name: 'secret github-webhook', state: 'broken' });
    expect(found!.detail).to.include('must have 16 to 4,096').and.not.include('hunter2');
    expect(found!.fix).to.include('openssl rand');
    writeFileSync(file, `${'a'.repeat(16)}\n`);
    expect(checkWebhookSecrets(folders())).to.deep.equal([]);
  });

  it('names who is notified, and the secrets of their channels that are missing', async () => {
    expect(checkNotifications(folders()).detail).to.contain('nobody is notified');
    const write = (channels: object) =>
      writeFileSync(
        join(home, 'config/notifications.json'),
        JSON.stringify({ people: { mira: { channels } } }),
      );
    write({ desktop: {} });
    expect(checkNotifications(folders())).to.include({ state: 'works', detail: 'mira' });
    write({ slack: { url_file: 'slack-mira' } });
    const lacking = checkNotifications(folders());
    expect(lacking).to.include({ state: 'warning' });
    expect(lacking.detail).to.contain('slack-mira missing in ');
    writeFileSync(join(home, 'config/notifications.json'), '{"people": []}');
    expect(checkNotifications(folders())).to.include({ state: 'broken', fix: 'Correct notifications.json.' });
  });

  it('asks forges that have a token, and only those', async () => {
    const forges = [
      { name: 'work', kind: 'gitea', base_url: 'http://127.0.0.1:9', token_file: 'work-token' },
    ];
    writeFileSync(join(home, 'config/forges.json'), JSON.stringify({ forges }));
    expect(await forgeWork()).to.include({ state: 'missing' });
    writeFileSync(join(home, 'config/secrets/work-token'), 'x', { mode: 0o600 });
    expect(await forgeWork()).to.include({ state: 'warning' });
  });

  it('names the account of each forge and the scopes that its token lacks, and never calls a silent one gone', async () => {
    const gitea = await startGiteaServer();
    const { state, faults, url } = gitea;
    const secret = join(home, 'config/secrets/work-token');
    const forges = [{ name: 'work', kind: 'gitea', base_url: url, token_file: 'work-token' }];
    writeFileSync(join(home, 'config/forges.json'), JSON.stringify({ forges }));
    writeFileSync(secret, state.token, { mode: 0o600 });
    state.scopes = ['write:repository', 'write:issue', 'read:user'];
    const limited = await forgeWork();
    expect(limited).to.include({ state: 'warning' });
    expect(limited!.detail)
      .to.contain('token of core-bot')
      .and.contain('lacks read:organization, for plan-issue');
    writeFileSync(secret, 'revoked');
    const refused = await forgeWork();
    expect(refused).to.include({ state: 'broken' });
    expect(refused!.detail).to.contain(secret);
    writeFileSync(join(home, 'config/core.json'), JSON.stringify({ answers: { seconds: 1 } }));
    faults.push({ path: /^\/user/, answer: 'hang', times: 10 });
    const silent = await forgeWork();
    expect(silent).to.include({ state: 'warning' });
    expect(silent!.detail).to.contain('did not answer within 1 s');
    await gitea.close();
  });

  it('does not run on an old Node', () => {
    expect(checkNode('20.11.0')).to.include({ state: 'broken' });
    expect(checkNode('24.0.0')).to.include({ state: 'works' });
  });
});

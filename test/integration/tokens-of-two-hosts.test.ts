import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { saidUntil } from '../e2e/said-until.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';
import { core, ended, started } from '../fixtures/world/core-command.ts';
import { allowUnsandboxed, outcomeOf } from '../fixtures/world/place.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

const agentd = fileURLToPath(new URL('../../bin/core-agentd', import.meta.url));

describeWith(['postgres'], 'the tokens of two hosts with one database', () => {
  let server: PostgresServer;
  let settings: PostgresSettings;
  let ends: (() => Promise<unknown>)[];

  beforeEach(async () => {
    ends = [];
    // One that can be stopped.
    server = await startPostgres(['max_connections=50']);
    settings = await server.database();
  });

  afterEach(async () => {
    for (const end of ends.toReversed()) await end();
    await server.stop();
  });

  function configure(home: string, more: object = {}): void {
    const { url, password_file } = settings;
    const storage = { kind: 'postgres', url, password_file };
    mkdirSync(join(home, 'config'), { recursive: true });
    writeFileSync(
      join(home, 'config/core.json'),
      JSON.stringify({ context: { url: null }, vcs: 'git', storage, ...more }),
    );
  }

  interface Host {
    readonly home: string;
    command(...args: string[]): Promise<string>;
    text(name: string): string;
  }

  function host(home = temporaryFolder()): Host {
    configure(home);
    return {
      home,
      async command(...args) {
        const { code, stdout, stderr } = await ended(core, [...args, '--home', home]);
        if (code !== 0) throw new Error(`core ${args.join(' ')}: ${stderr}`);
        return stdout;
      },
      text: (name) => readFileSync(join(home, 'config/tokens', `${name}.token`), 'utf8').trim(),
    };
  }

  /** core-agentd as a process. */
  async function serve({ home }: Host): Promise<(text: string) => Promise<Response>> {
    const daemon = started(agentd, ['serve', '--port', '0', '--home', home]);
    ends.push(() => {
      daemon.child.kill('SIGTERM');
      return daemon.ended;
    });
    const [, url] = await saidUntil(daemon.child, /(http:\/\/127\.0\.0\.1:\d+)/);
    return (text) => fetch(`${url}/v1/token`, { headers: { authorization: `Bearer ${text}` } });
  }

  const answers = (ask: (text: string) => Promise<Response>, text: string, status: number) =>
    until(`${status}`, async () => (await ask(text)).status === status);

  it('are made and revoked on one, and open and close the services of the other', async () => {
    const [one, two] = [host(), host()];
    const [askOne, askTwo] = [await serve(one), await serve(two)];
    await one.command('token', 'create', 'ci', '--scopes', 'read,plan');
    const text = one.text('ci');
    await answers(askTwo, text, 200);
    expect(await (await askTwo(text)).json()).to.deep.equal({ name: 'ci', scopes: ['read', 'plan'] });
    // Each host has services of its own, and each knows those of the other.
    expect(one.text('worker')).not.to.equal(two.text('worker'));
    for (const ask of [askOne, askTwo])
      for (const { text } of [one, two]) expect((await ask(text('worker'))).status).to.equal(200);
    const { tokens } = JSON.parse(await two.command('token', 'list', '--json'));
    expect(tokens.filter(({ name }: { name: string }) => name === 'worker')).to.have.length(2);
    expect(await two.command('token', 'list')).to.match(/worker of \S+ +in force/);

    await two.command('token', 'revoke', 'ci');
    for (const ask of [askOne, askTwo]) await answers(ask, text, 401);
    const { stdout } = await ended(core, ['doctor', '--json', '--home', one.home]);
    expect(stdout).to.contain('registered in postgres://');
  });

  it('open nothing while the database cannot be asked, and all again afterwards', async () => {
    const one = host();
    const ask = await serve(one);
    await server.crash();
    const text = one.text('worker');
    const away = performance.now();
    expect((await ask(text)).status).to.equal(200);
    await answers(ask, text, 503);
    expect(performance.now() - away).to.be.within(3_000, 60_000);
    const refused = await ask(text);
    expect(refused.headers.get('retry-after')).to.match(/^\d+$/);
    expect(await refused.json()).to.deep.include({ code: 'database_unavailable' });
    const { code, stderr } = await ended(core, ['token', 'list', '--home', one.home]);
    expect([code, stderr].join(' ')).to.match(/^5 /).and.contain('tokens cannot be checked');
    await server.restart();
    await answers(ask, text, 200);
  });

  it('take back what they approved, wherever they are revoked', async () => {
    const world: World = await makeWorld({ vcs: 'git' });
    ends.push(() => world.close());
    allowUnsandboxed(world);
    const [one, two] = [host(world.home), host()];
    await one.command('token', 'create', 'jo', '--scopes', 'approve');
    const number = await world.newIssue(`Greet.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`);
    const run = await world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
    const [action] = run.actions;
    await world.agent.decide({
      run_id: run.run_id,
      decision: 'approve',
      actions: [{ action_id: action!.definition.action_id, digest: action!.definition.digest }],
      reason: null,
      claimed_approver: null,
      by: { name: 'jo', scopes: ['approve'] },
    });
    await two.command('token', 'revoke', 'jo');
    const executed = (dry_run: boolean) =>
      world.agent
        .execute(
          { run_id: run.run_id, by: everybody, repo_dir: world.checkout.dir, actions: null, dry_run },
          quiet,
        )
        .then((done) => outcomeOf(done, action!.definition.kind));
    await until('the revocation', async () => (await executed(true)).code === 'approver_revoked');
    const outcome = await executed(false);
    expect(outcome).to.deep.include({ code: 'approver_revoked' });
    expect(outcome.message).to.contain("the token 'jo' was revoked");
  });

  it('of a person are one on all hosts: another host says to copy it', async () => {
    const [one, two] = [host(), host()];
    await one.command('token', 'list');
    await ended(core, ['inbox', '--home', one.home]);
    const refused = await ended(core, ['inbox', '--home', two.home]);
    expect(refused.stderr).to.contain('knows another one of that name').and.contain('Copy');
    const { tokens } = JSON.parse(await one.command('token', 'list', '--json'));
    const { name } = tokens.find(({ kind }: { kind: string }) => kind === 'person');
    writeFileSync(join(two.home, 'config/tokens', `${name}.token`), one.text(name), { mode: 0o600 });
    const taken = await ended(core, ['inbox', '--home', two.home]);
    expect([taken.code, taken.stderr]).to.deep.equal([0, '']);
  });

  it('goes on executing after a pause that was longer than what it knows of tokens counts', async () => {
    const world = await makeWorld({ vcs: 'git', storage: settings });
    ends.push(() => world.close());
    allowUnsandboxed(world);
    const { run_id } = await world.plannedAndApproved();
    const args = ['execute-approved', '--repo-dir', world.checkout.dir, '--run-id', run_id];
    const pause = 'execute.before_intent.apply_patch:1:SIGSTOP';
    const { child, ended } = world.start(args, { CORE_CRASH_AT: pause });
    const state = () => readFileSync(`/proc/${child.pid}/stat`, 'utf8').replace(/^.*\) /, '')[0];
    await until('the pause', () => state() === 'T');
    await setTimeout(6_000);
    child.kill('SIGCONT');
    const { code, stderr } = await ended;
    expect(code, stderr).to.equal(0);
    expect((await world.agent.run(run_id)).status).to.equal('completed');
  });
});

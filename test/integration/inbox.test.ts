import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Inbox } from '#kit/contracts/inbox.ts';
import { createHttpClient } from '#kit/http/client.ts';
import { createToken, type Scope } from '#kit/tokens/tokens.ts';
import type { Person } from '../../services/agentd/agent.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { startDaemon } from '../fixtures/world/daemon.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { greetPatch, helloFiles, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';

const everything: Scope[] = ['read', 'plan', 'approve', 'execute', 'admin'];
const mira: Person = { name: 'mira', scopes: everything };
const jo: Person = { name: 'jo', scopes: everything };
const twoPeople = { name: 'two people', gates: ['build'], approvers: 2 };

describe('the inbox', () => {
  let world: World;
  let number: number;

  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git', files: { ...helloFiles, '.github/CODEOWNERS': '* @Jo\n' } });
    allowUnsandboxed(world);
    for (const name of ['mira', 'jo', 'kim']) createToken(folders(), { name, scopes: everything });
    createToken(folders(), { name: 'reader', scopes: ['read'] });
  });

  afterEach(() => world.close());

  const folders = () => ({ tokens: join(world.home, 'config/tokens') });
  const people = { mira: {}, jo: { logins: ['Jo'] }, kim: {} };

  function write(concern: string, document: object): void {
    writeFileSync(join(world.home, `config/${concern}.json`), JSON.stringify(document));
  }

  async function planned(patch = greetPatch): Promise<Run> {
    const issue = await world.forgeAdmin.newIssue({
      ...ref,
      title: 'Greet strangers',
      body: `\`\`\`diff\n${patch}\`\`\`\n`,
      author: 'mira',
      association: 'owner',
    });
    number = issue.number;
    return world.agent.planIssue({ ...ref, number, by: mira }, quiet);
  }

  function decide(run: Run, by: Person, gate = 'build'): Promise<Run> {
    const actions = run.actions
      .filter(({ definition }) => definition.gate === gate)
      .map(({ definition: { action_id, digest } }) => ({ action_id, digest }));
    const { run_id } = run;
    return world.agent.decide({
      run_id,
      decision: 'approve',
      actions,
      reason: null,
      claimed_approver: null,
      by,
    });
  }

  const execute = ({ run_id }: Run): Promise<Run> =>
    world.agent.execute(
      { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: mira },
      quiet,
    );

  const of = async (person: string | null, now = new Date()) => {
    const { items, others } = await world.agent.inbox({ person, now });
    return { items: items.map(({ kind, gate }) => `${kind} ${gate}`), others };
  };

  it('has what waits for those whose approval counts, and not for who gave theirs', async () => {
    write('policy', { people, approval: { rules: [{ ...twoPeople, code_owners: true }] } });
    const run = await planned();
    expect(await of('mira')).to.deep.equal({ items: ['approval build'], others: 0 });
    await decide(run, mira);
    expect(await of('mira')).to.deep.equal({ items: [], others: 1 });
    expect(await of('kim')).to.deep.equal({ items: [], others: 1 });
    const [item] = (await world.agent.inbox({ person: 'jo', now: new Date() })).items;
    expect(item).to.deep.include({ people: ['jo'], command: ['approve', run.run_id, '--gate', 'build'] });
    expect(item!.text).to.equal(
      '4 actions of the build gate: 1 of 2, no code owner yet; patch by mira (owner), in the issue',
    );
    await decide(run, jo);
    expect(await of('jo')).to.deep.equal({ items: ['execution null'], others: 0 });
  });

  it('has nothing for a token that may only read, and everything without a person', async () => {
    await planned();
    expect(await of('reader')).to.deep.equal({ items: [], others: 1 });
    expect(await of(null)).to.deep.equal({ items: ['approval build'], others: 0 });
  });

  it('asks for approvals again that have ended', async () => {
    await decide(await planned(), mira);
    expect((await of(null)).items).to.deep.equal(['execution null']);
    const later = new Date(Date.now() + 30 * 86_400_000);
    expect((await of(null, later)).items).to.deep.equal(['lapsed build']);
  });

  it('has a validation that failed until the issue is planned again', async () => {
    write('validation', {
      allow_unsandboxed: true,
      repositories: { 'demo/hello': { commands: [{ name: 'check', run: 'false' }] } },
    });
    const run = await execute(await decide(await planned(), mira));
    const { items } = await world.agent.inbox({ person: 'mira', now: new Date() });
    expect(items.map(({ kind, command }) => [kind, ...command])).to.deep.equal([
      ['validation', 'show', run.run_id],
    ]);
    await world.agent.planIssue({ ...ref, number, by: mira }, quiet);
    expect((await of('mira')).items).to.deep.equal(['approval build']);
  });

  it('has plannings that failed', async () => {
    write('policy', { limits: { files: 1 } });
    await planned().catch(() => {});
    const { items } = await world.agent.inbox({ person: null, now: new Date() });
    expect(items.map(({ kind }) => kind)).to.deep.equal(['planning']);
    expect(items[0]!.text).to.match(/^planning failed: /);
  });

  it('is printed for the person at the keyboard, with what to type', async () => {
    const empty = await world.command(['inbox', '--all']);
    expect(empty.stdout).to.equal('Nothing waits for anybody.\n');
    const run = await planned();
    const { stdout } = await world.command(['inbox', '--all']);
    expect(stdout).to.contain('demo/hello#').and.to.contain('4 actions of the build gate');
    expect(stdout).to.contain(`approve ${run.run_id.slice(0, 17)} --gate build`);
    const unknown = await world.command(['inbox', '--person', 'nobody']);
    expect(unknown.stderr).to.contain("'nobody' is neither a person of policy.json").and.to.contain('kim');
    const both = await world.command(['inbox', '--person', 'mira', '--all']);
    expect(both.stderr).to.contain('--all is of everybody');
  });

  it('is answered over HTTP for the token that asks', async () => {
    await planned();
    const daemon = await startDaemon(world);
    const client = createHttpClient({ baseUrl: daemon.url, token: daemon.token });
    try {
      expect(await client.get('/v1/inbox', Inbox)).to.include({ person: 'tester', others: 1 });
      expect((await client.get('/v1/inbox?person=jo', Inbox)).items).to.have.length(1);
      expect((await client.get('/v1/inbox?all=true', Inbox)).person).to.equal(null);
    } finally {
      await client.close();
      await daemon.close();
    }
  });
}).timeout(60_000);

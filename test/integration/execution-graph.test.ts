import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import type { Run } from '../../services/agentd/runs/run.ts';
import { type RunningContext, startContext } from '../fixtures/context/context-service.ts';
import { until } from '../fixtures/until.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { itWith } from '../needs.ts';

const issueText = `It should greet strangers.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;

describe('runs in the execution graph', () => {
  let world: World;
  let context: RunningContext;

  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
    context = await startContext(world.home);
    configure(context.url);
  });

  afterEach(async () => {
    await world.close();
    await context.close();
  });

  function configure(url: string): void {
    writeFileSync(join(world.home, 'config/core.json'), JSON.stringify({ context: { url }, vcs: 'git' }));
  }

  function asked(sql: string): Record<string, unknown>[] {
    const db = new DatabaseSync(join(world.home, 'state/context/record.sqlite'), { readOnly: true });
    try {
      return db.prepare(sql).all() as Record<string, unknown>[];
    } finally {
      db.close();
    }
  }

  const plan = async (text = issueText, title?: string) =>
    world.agent.planIssue({ ...ref, number: await world.newIssue(text, title), by: everybody }, quiet);

  const execute = (run: Run) =>
    world.agent.execute(
      { run_id: run.run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
      quiet,
    );

  async function decide(run: Run, decision: 'approve' | 'reject', kind: string, reason: string | null) {
    const { action_id, digest } = run.actions.find(({ definition }) => definition.kind === kind)!.definition;
    const actions = [{ action_id, digest }];
    const request = { run_id: run.run_id, decision, actions, reason, claimed_approver: null, by: everybody };
    return world.agent.decide(request);
  }

  const properties = (label: string) =>
    asked(`SELECT properties FROM nodes WHERE label = '${label}' ORDER BY id`).map(({ properties: text }) =>
      JSON.parse(String(text)),
    );

  it('knows the plan before anything is approved, and the context that it was made with', async () => {
    const run = await plan();
    expect(run.plan!.notices).to.deep.equal([]);
    expect(run.plan!.files_of_context).to.be.above(0);
    expect(run.plan!.context!.map(({ source }) => source.split(':')[0])).to.include('src/greet.js');
    expect(run.actions.every(({ approval }) => approval === 'required')).to.equal(true);
    expect(properties('ReasoningRun')).to.have.length(1);
    expect(properties('ReasoningRun')[0]).to.include({ run_id: run.run_id, status: 'awaiting_approval' });
    expect(properties('Action').map(({ kind }) => kind)).to.deep.equal(
      run.actions.map(({ definition }) => definition.kind),
    );
    const touched = asked(
      `SELECT t.path FROM edges e JOIN nodes t ON t.node = e.to_node WHERE e.kind = 'touches'`,
    );
    expect(touched).to.deep.equal([{ path: 'src/greet.js' }]);
    expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
  });

  it('knows how a run ended, in episodes and as a summary', async () => {
    const run = await execute(await world.approve(await plan()));
    expect(run.status).to.equal('completed');
    expect(properties('ReasoningRun')[0]).to.include({
      status: 'completed',
      validation_passed: true,
      pull_request_state: 'open',
      cost: 0,
    });
    expect(properties('Action').every(({ state }) => state === 'succeeded')).to.equal(true);
    const memories = asked(`SELECT kind, title FROM nodes WHERE label = 'Memory' ORDER BY node`);
    expect(memories.filter(({ kind }) => kind === 'summary')).to.have.length(1);
    expect(memories.filter(({ kind }) => kind === 'run_event').length).to.be.above(10);
  });

  it('gets reports while a long action runs', async () => {
    world.checkout.git('pull', '-q');
    writeFileSync(
      join(world.checkout.dir, '.core.json'),
      '{"validation":{"commands":[{"name":"slow","run":"until [ -e continue ]; do sleep 0.05; done"}]}}\n',
    );
    world.checkout.git('-c', 'user.name=t', '-c', 'user.email=t@example.org', 'commit', '-qam', 'Slow down');
    world.checkout.git('push', '-q', 'origin', 'HEAD:main');
    const run = await world.approve(await plan());
    const work = execute(run);
    await until('it to be reported', () => {
      const [{ status } = { status: '' }] = properties('ReasoningRun');
      const validation = properties('Action').find(({ kind }) => kind === 'run_validation');
      return status === 'executing' && validation?.state === 'running';
    });
    const copies = join(world.home, 'state/validation');
    const [copy] = await until('the copy in which it runs', () => {
      const found = readdirSync(copies);
      return found.length === 1 && found;
    });
    writeFileSync(join(copies, copy!, 'workspace/continue'), '');
    await work;
    expect(properties('ReasoningRun')[0]).to.include({ status: 'completed' });
  });

  it('shows the next planning how like actions went, and raises the risk of what went badly', async () => {
    const first = await plan();
    for (const kind of ['push_branch', 'comment_issue'])
      await decide(first, 'reject', kind, 'nobody asked for a push');
    const second = await plan(issueText, 'Greeting is wrong for strangers');
    const push = second.actions.find(({ definition }) => definition.kind === 'push_branch')!.definition;
    expect(push.history).to.deep.include({
      counts: { succeeded: 0, merged: 0, rejected: 1, failed: 0, undone: 0, closed: 0 },
    });
    expect(push.history!.cases[0]).to.include({
      run_id: first.run_id,
      outcome: 'rejected',
      reason: 'nobody asked for a push',
    });
    expect(second.plan!.context!.map(({ layer }) => layer)).to.include('semantic');

    await decide(second, 'reject', 'push_branch', 'still nobody asked for a push');
    const third = await plan(issueText, 'Greeting is wrong once more');
    const again = third.actions.find(({ definition }) => definition.kind === 'push_branch')!.definition;
    expect(again.history!.score).to.be.below(push.history!.score);
    expect(again.risk_score).to.be.above(
      first.actions.find(({ definition }) => definition.kind === 'push_branch')!.definition.risk_score,
    );
    expect(again.risk_reasons.join()).to.contain('like actions went badly: 2 rejected');
    const branch = third.actions.find(({ definition }) => definition.kind === 'create_branch')!.definition;
    expect(branch.history).to.equal(null);
  });

  it('marks what outsiders had a hand in, and trusts what members wrote', async () => {
    const first = await plan();
    await decide(first, 'reject', 'comment_issue', 'the comment greets strangers');
    const second = await plan(issueText, 'Greeting is wrong for strangers');
    const of = second.actions[0]!.definition.influences;
    expect(of.filter(({ kind }) => kind === 'file').every(({ trusted }) => trusted)).to.equal(true);
    const memories = of.filter(({ kind }) => kind === 'memory');
    expect(memories.length).to.be.above(0);
    // The issue was written by a contributor, who is an outsider.
    expect(memories.some(({ trusted }) => trusted)).to.equal(false);
  });

  it('trusts what people remembered, and not what an agent did, whatever it is said to be about', async () => {
    const first = await plan();
    const memory = await world.agent.context();
    const { signal } = new AbortController();
    for (const [content, source, about] of [
      ['Greet strangers warmly when the greeting is wrong', 'mira', []],
      ['Greet strangers coldly when the greeting is wrong', 'token:helper', []],
      ['Greet strangers never when the greeting is wrong', 'mcp:helper', [`run:${first.run_id}`]],
    ] as const)
      await memory.remember({ content, source, layer: 'semantic', about: [...about] }, signal);
    const { actions } = await plan(issueText, 'Greeting is wrong for strangers');
    const trust = (word: string) =>
      actions[0]!.definition.influences
        .filter(({ source }) => source.includes(word))
        .map((one) => one.trusted);
    expect(trust('warmly')).to.deep.equal([true]);
    expect(trust('coldly')).to.deep.equal([false]);
    expect(trust('never')).to.deep.equal([false]);
  });

  it('learns by sync that a pull request was merged, once, and the run still verifies', async () => {
    const run = await execute(await world.approve(await plan()));
    const { number } = run.actions.find(({ definition }) => definition.kind === 'open_pull_request')!.outcome!
      .facts as { number: number };
    const open = await world.command(['sync']);
    expect(open.code, open.stderr).to.equal(0);
    expect(open.stdout).to.match(new RegExp(`demo/hello#${number} +open +- +- +run_\\S+ +news`));
    expect(open.stdout).to.contain('context  received 1 run');

    await world.forgeAdmin.mergePullRequest(ref, number);
    const merged = await world.command(['sync', '--json']);
    const report = JSON.parse(merged.stdout);
    expect(report.pull_requests).to.have.length(1);
    expect(report.pull_requests[0]).to.include({
      state: 'merged',
      before: 'open',
      news: true,
      problem: null,
    });
    const again = await world.command(['sync', '--repository', 'demo/hello']);
    expect(again.stdout)
      .to.match(/merged +- +just now +run_\S+$/m)
      .and.contain('context  knows every run');

    const seen = await world.agent.run(run.run_id);
    expect(seen.pull_request).to.include({ number, state: 'merged' });
    expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
    expect(properties('ReasoningRun')[0]).to.include({ pull_request: number, pull_request_state: 'merged' });
    expect(asked(`SELECT DISTINCT outcome FROM action_cases ORDER BY 1`)).to.deep.equal([
      { outcome: 'merged' },
      { outcome: 'succeeded' },
    ]);
    const shown = await world.command(['show', run.run_id]);
    expect(shown.stdout).to.match(/pull request +#\d+ +merged/);
  });

  itWith(
    ['time'],
    'fails sync only for a forge that does not answer, so that a timer can live with the rest',
    async () => {
      const none = await world.command(['sync', '--repository', 'demo/other']);
      expect([none.code, none.stdout.split('\n')[0]]).to.deep.equal([
        0,
        'No run of demo/other has a pull request yet.',
      ]);
      for (const name of ['demo', 'demo/', 'a/b/c', '']) {
        const wrong = await world.command(['sync', '--repository', name]);
        expect(wrong.code).to.equal(2);
        expect(wrong.stderr).to.contain(`--repository '${name}' must be owner/repo`);
      }
      await execute(await world.approve(await plan()));
      configure('http://127.0.0.1:9');
      const away = await world.command(['sync']);
      expect(away.code).to.equal(0);
      expect(away.stdout).to.contain('context  received no run, 1 run waits');
      const waits = 'core-context at http://127.0.0.1:9 did not answer; 1 run waits';
      expect(away.stderr).to.contain(`warning  ${waits}`);
      expect(away.stdout).to.match(/demo\/hello#\d+ +open/);
      const synced = await world.command(['sync', '--json']);
      expect(synced.code).to.equal(0);
      expect(JSON.parse(synced.stdout).warnings).to.have.length(1);
      expect(JSON.parse(synced.stdout).warnings[0]).to.contain(waits);

      configure(context.url);
      for (const name of readdirSync(join(world.home, 'state/forge/demo/hello/pulls')))
        rmSync(join(world.home, 'state/forge/demo/hello/pulls', name));
      const gone = await world.command(['sync']);
      expect(gone.code).to.equal(0);
      expect(gone.stdout)
        .to.match(/demo\/hello#\d+ +open .* gone/)
        .and.contain('context  received 1 run');
      expect(gone.stderr).to.match(/warning {2}forge 'local' has no pull request demo\/hello#\d+/);

      const deadForge = {
        name: 'local',
        kind: 'gitea',
        base_url: 'http://127.0.0.1:9',
        token_file: 'gitea-token',
      };
      writeFileSync(join(world.home, 'config/forges.json'), JSON.stringify({ forges: [deadForge] }));
      const silent = await world.command(['sync']);
      expect(silent.code).to.equal(5);
      expect(silent.stdout).to.match(/demo\/hello#\d+ +open .* not answered/);
      expect(silent.stderr).to.match(/^error {4}.*local/m);
    },
  );
});

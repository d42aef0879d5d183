import { join } from 'node:path';
import { expect } from 'chai';
import { Accepted, RunDetail } from '#kit/contracts/run.ts';
import { createHttpClient } from '#kit/http/client.ts';
import { createToken } from '#kit/tokens/tokens.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { until } from '../fixtures/until.ts';
import { startDaemon } from '../fixtures/world/daemon.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';

const task = `Greet strangers\n\nWhen no name is given.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;

// biome-ignore lint/suspicious/noExplicitAny: parameters of every kind of action
const paramsOf = (run: Run, kind: string): any =>
  run.actions.find(({ definition }) => definition.kind === kind)!.definition.params;

describe('A task in place of an issue', () => {
  let world: World;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
  });

  after(() => world?.close());

  const planned = (text = task) => world.agent.planIssue({ ...ref, task: text, by: everybody }, quiet);

  it('is planned in the folder where one stands, asks no forge about an issue, and has no action that comments', async () => {
    const { code, stdout, stderr } = await world.command(
      ['plan', '--task', task, '--json'],
      {},
      world.checkout.dir,
    );
    expect(code, stderr).to.equal(0);
    const run = await world.agent.run(JSON.parse(stdout).run_id);
    expect(run.status).to.equal('awaiting_approval');
    expect(run.request).to.include({ owner: 'demo', repo: 'hello', number: null });
    expect(run.issue).to.include({
      title: 'Greet strangers',
      association: 'owner',
      html_url: null,
      comments: 0,
    });
    expect(run.actions.map(({ definition }) => definition.kind)).to.deep.equal([
      'create_branch',
      'apply_patch',
      'run_validation',
      'commit',
      'push_branch',
      'open_pull_request',
    ]);
    expect(run.plan!.target.branch).to.match(/^core\/task-greet-strangers-/);
    expect(paramsOf(run, 'commit').message.split('\n')[0]).to.equal('Greet strangers');
    expect(paramsOf(run, 'open_pull_request').title).to.equal('Greet strangers');
    expect(paramsOf(run, 'open_pull_request').body).not.to.include('Closes');
  });

  it('goes from plan to pull request and back, and its record holds', async () => {
    const run = await world.approve(await planned());
    const done = await world.agent.execute(
      { run_id: run.run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
      quiet,
    );
    expect(done.status).to.equal('completed');
    expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
    const undone = await world.agent.undo({ run_id: run.run_id, by: everybody }, quiet);
    expect(undone.status).to.equal('undone');
    expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
    const before = new Date(Date.now() + 60_000).toISOString();
    const { runs } = await world.agent.prune({ before, what: 'runs', dry_run: false });
    expect(runs).to.include(run.run_id);
    expect((await world.agent.verify(run.run_id).catch((error) => error)).code).to.equal('run_pruned');
  });

  it('is shown by its repository and title, in lists, as last, and in what can be typed next', async () => {
    const run = await planned('Do nothing\nplease').catch(async () => {
      const [newest] = (await world.agent.runs({ limit: 1 })).runs;
      return world.agent.run(newest!.run_id);
    });
    expect((await world.agent.runs({ limit: 1, text: 'do nothing' })).runs[0]).to.include({
      run_id: run.run_id,
      number: null,
      title: 'Do nothing',
    });
    const list = await world.command(['runs', '--all', '--limit', '1']);
    expect(list.stdout).to.include('demo/hello ').and.include('Do nothing');
    const shown = await world.command(['show', 'last']);
    expect(shown.stdout).to.include('demo/hello  Do nothing');
    expect(shown.stdout).to.include('plan --repository demo/hello --task TASK');
    expect(list.stdout + shown.stdout).not.to.match(/null|undefined/);
  });

  it('ends with what the planner says where it proposes no change', async () => {
    const typed = (text: string) => world.command(['plan', '--task', text], {}, world.checkout.dir);
    const stale = task.replaceAll("'Hello '", "'Salve '");
    const failed = await typed(stale);
    expect(failed.code).to.equal(3);
    expect(failed.stderr)
      .to.include('a task has no issue to comment on')
      .and.include('[task_without_change]');
    const without = await typed('Think about it');
    expect(without.code).to.equal(3);
    expect(without.stderr)
      .to.include('[task_without_patch]')
      .and.match(/core'? model add/);
  });

  it('stands for itself: another one takes no place, and one key names one task', async () => {
    const first = await planned();
    const second = await planned();
    expect(second.plan!.supersedes).to.equal(undefined);
    expect((await world.agent.run(first.run_id)).status).to.equal('awaiting_approval');
    const keyed = { ...ref, task, idempotency_key: 'task-1', by: everybody };
    const one = await world.agent.planIssue(keyed, quiet);
    expect((await world.agent.planIssue(keyed, quiet)).run_id).to.equal(one.run_id);
    const other = world.agent.planIssue({ ...keyed, task: `${task}\nAnd more.` }, quiet);
    expect(await other.catch((error) => error.code)).to.equal('idempotency_key_reused');
  });

  for (const point of ['run_committed', 'plan.started', 'plan.source_read', 'plan.before_seal'])
    it(`is planned to its end after a crash at ${point}`, async () => {
      const before = new Set((await world.agent.runs({ limit: 100 })).runs.map(({ run_id }) => run_id));
      const { signal } = await world.command(
        ['plan', '--task', task],
        { CORE_CRASH_AT: point },
        world.checkout.dir,
      );
      expect(signal).to.equal('SIGKILL');
      const made = (await world.agent.runs({ limit: 100 })).runs.filter(({ run_id }) => !before.has(run_id));
      expect(made).to.have.length(1);
      const run = await world.agent.resume({ run_id: made[0]!.run_id, by: everybody }, quiet);
      expect(run).to.deep.include({ status: 'awaiting_approval' });
      expect(run.issue!.title).to.equal('Greet strangers');
      expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
    });

  it('comes over HTTP too, and is trusted as far as its token is', async () => {
    const daemon = await startDaemon(world);
    const folders = { state: join(world.home, 'state'), tokens: join(world.home, 'config/tokens') };
    const person = createToken(folders, { name: 'person', scopes: ['read', 'plan', 'approve'] }).text;
    try {
      for (const [token, association] of [
        [daemon.token, 'none'],
        [person, 'owner'],
      ] as const) {
        const client = createHttpClient({ baseUrl: daemon.url, token });
        const { run_id } = await client.post('/v1/runs', { ...ref, task }, Accepted);
        const run = await until('it is planned', async () => {
          const detail = await client.get(`/v1/runs/${run_id}`, RunDetail);
          return detail.status === 'planning' ? null : detail;
        });
        await client.close();
        expect(run.issue).to.include({ association });
        const [influence] = run.actions[0]!.influences;
        expect(influence).to.include({ source: 'the task for demo/hello', trusted: association === 'owner' });
      }
    } finally {
      await daemon.close();
    }
  });

  it('is refused beside an issue, without one, empty, and with a secret', async () => {
    const failure = (request: object) =>
      world.agent.planIssue({ ...ref, ...request, by: everybody }, quiet).catch((error) => error.code);
    expect(await failure({})).to.equal('issue_or_task');
    expect(await failure({ number: 1, task })).to.equal('issue_or_task');
    expect(await failure({ task: `use ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}` })).to.equal(
      'task_holds_secret',
    );
    const typed = (...args: string[]) => world.command(['plan', ...args], {}, world.checkout.dir);
    expect((await typed()).stderr).to.include('[issue_or_task]');
    expect((await typed('1', '--task', 'x')).stderr).to.include('[issue_or_task]');
    expect((await typed('--task', '  ')).stderr)
      .to.include('--task')
      .and.include('[invalid_option]');
    expect((await typed('--task', 'x', '--repository', 'hello')).stderr).to.include('must be owner/repo');
  });
});

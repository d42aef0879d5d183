import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import type { Run } from '../../services/agentd/runs/run.ts';
import { type BrokenContext, brokenContext } from '../fixtures/context/broken-context.ts';
import { type RunningContext, startContext } from '../fixtures/context/context-service.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

const issueText = `It should greet strangers.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;

describeWith(['time'], 'delivery of runs to the context service', () => {
  let world: World;
  const running: (RunningContext | BrokenContext)[] = [];

  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
  });

  afterEach(async () => {
    await world.close();
    for (const service of running.splice(0)) await service.close();
  });

  function configure(url: string): void {
    writeFileSync(join(world.home, 'config/core.json'), JSON.stringify({ context: { url }, vcs: 'git' }));
  }

  async function started(): Promise<RunningContext> {
    const context = await startContext(world.home);
    running.push(context);
    configure(context.url);
    return context;
  }

  async function broken(answer: Parameters<typeof brokenContext>[0]): Promise<BrokenContext> {
    const context = await brokenContext(answer);
    running.push(context);
    configure(context.url);
    return context;
  }

  async function planned(): Promise<Run> {
    const number = await world.newIssue(issueText);
    return world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
  }

  function graph(): Record<string, number> {
    const db = new DatabaseSync(join(world.home, 'state/context/record.sqlite'), { readOnly: true });
    try {
      const rows = db.prepare('SELECT label, count(*) AS nodes FROM nodes GROUP BY label').all();
      return Object.fromEntries(rows.map(({ label, nodes }) => [String(label), Number(nodes)]));
    } finally {
      db.close();
    }
  }

  for (const [what, answer, said] of [
    ['answers 500 to everything', (_, response) => response.writeHead(500).end('oops'), /cannot help: .*500/],
    [
      'answers rubbish',
      (_, response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"results": [{"id"'),
      /answered what cannot be understood|is not JSON/,
    ],
    [
      'answers JSON of another kind',
      (_, response) => response.writeHead(200).end('{"hello": ["world"]}'),
      /answered what cannot be understood/,
    ],
    ['hangs up', (request) => void request.socket.destroy(), /did not answer/],
    ['is another program', (_, response) => response.writeHead(404).end('<html>'), /cannot help/],
  ] as [string, Parameters<typeof brokenContext>[0], RegExp][]) {
    it(`plans, decides and executes beside something that ${what}`, async () => {
      await broken(answer);
      const run = await planned();
      expect(run.status).to.equal('awaiting_approval');
      const notices = run.plan!.notices.filter((notice) => notice.startsWith('context: '));
      expect(notices).to.have.length(1);
      expect(notices[0])
        .to.match(said)
        .and.match(/planned without it$/);
      expect(run.plan!.memories).to.equal(0);
      await world.approve(run);
      const request = { run_id: run.run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false };
      expect((await world.agent.execute({ ...request, by: everybody }, quiet)).status).to.equal('completed');

      const context = await started();
      const sync = await world.command(['sync', '--json']);
      expect(sync.code, sync.stderr).to.equal(0);
      expect(JSON.parse(sync.stdout).context).to.deep.equal({
        delivered: [run.run_id],
        waiting: [],
        reason: null,
        refused: [],
      });
      expect(graph()).to.include({ ReasoningRun: 1, Task: 1, Action: 7 });
      expect(context.url).to.not.equal('');
    });
  }

  it('waits a bounded time for a service that never answers', async () => {
    await broken(() => {});
    const clock = performance.now();
    const run = await planned();
    expect(performance.now() - clock).to.be.below(100_000);
    expect(run.plan!.notices.join('\n')).to.match(/did not answer within (10|5) s/);
    const before = performance.now();
    await world.approve(run, ['create_branch']);
    expect(performance.now() - before).to.be.below(25_000);
  });

  it('keeps what it could not deliver, and delivers it with the next command', async () => {
    configure('http://127.0.0.1:9');
    const number = await world.newIssue(issueText);
    const away = await world.command([
      'plan-issue',
      '--owner',
      'demo',
      '--repo',
      'hello',
      '--number',
      String(number),
    ]);
    expect(away.code, away.stderr).to.equal(0);
    expect(away.stdout).to.contain(
      'note  context: core-context at http://127.0.0.1:9 did not answer; planned without it',
    );
    expect(away.stderr).to.not.contain('is queued');
    const { run_id } = (await world.agent.runs({ limit: 1 })).runs[0]!;
    await started();
    const approved = await world.command(['approve', run_id, '--gate', 'build']);
    expect(approved.code, approved.stderr).to.equal(0);
    expect(graph()).to.include({ ReasoningRun: 1, Action: 7 });
  });

  it('is reported missing once, until it answers again', async () => {
    await started();
    const { url } = running[0] as RunningContext;
    const run = await planned();
    configure('http://127.0.0.1:9');
    await world.command(['approve', run.run_id, '--gate', 'build']);
    const execute = ['execute-approved', run.run_id, '--repo-dir', world.checkout.dir];
    const first = await world.command(execute);
    expect(first.stderr).to.contain('did not answer; delivery of run').and.to.contain('is queued');
    const undone = await world.command(['undo', run.run_id]);
    expect(undone.stderr).to.not.contain('is queued');
    configure(url);
    await world.command(['sync']);
    expect(graph()).to.include({ ReasoningRun: 1, Action: 7 });
  });

  it('gets waiting decisions before the next plan is scored', async () => {
    await started();
    const first = await planned();
    const { url } = running[0] as RunningContext;
    configure('http://127.0.0.1:9');
    const rejected = await world.command([
      'reject',
      first.run_id,
      '--gate',
      'publish',
      '--reason',
      'too broad',
    ]);
    expect(rejected.code, rejected.stderr).to.equal(0);
    const number = String(await world.newIssue(issueText));
    const args = ['plan-issue', '--owner', 'demo', '--repo', 'hello', '--number'];
    const alone = await world.command([...args, String(first.request.number)]);
    expect(alone.stdout).to.contain('planned without it').and.not.contain('of context');
    const { run_id } = (await world.agent.runs({ limit: 1 })).runs[0]!;
    const shown = await world.command(['actions', run_id, '5']);
    expect(shown.stdout).to.match(
      /influence +rejection push_branch, open_pull_request, comment_issue by \S+ \S+: too broad\n/,
    );

    configure(url);
    const next = await world.command([...args, number]);
    expect(next.code, next.stderr).to.equal(0);
    const run = await world.agent.run((await world.agent.runs({ limit: 1 })).runs[0]!.run_id);
    const push = run.actions.find(({ definition }) => definition.kind === 'push_branch')!.definition;
    expect(push.history).to.include({ score: 0.5, expected: 0.667 });
    expect(push.history!.cases[0]).to.include({ outcome: 'rejected', reason: 'too broad' });
    const sources = run.plan!.context!.map(({ source }) => source);
    expect(sources).to.deep.equal([...new Set(sources)]);
  });

  it('gives memory and gets reports with the token of the service alone, as in a container', async () => {
    const config = join(world.home, 'config');
    const tokens = join(config, 'tokens');
    writeFileSync(join(config, 'context.json'), '{"require_token_for_reads": true}');
    await started();
    for (const name of readdirSync(tokens).filter((file) => file.endsWith('.token')))
      if (name !== 'agentd.token') rmSync(join(tokens, name));
    const run = await planned();
    expect(run.plan!.notices.filter((notice) => notice.startsWith('context: '))).to.deep.equal([]);
    expect(run.plan!.files_of_context).to.be.above(0);
    expect(graph()).to.include({ ReasoningRun: 1, Task: 1, Action: 7 });
  });

  for (const place of ['plan.sealed', 'context.plan_delivered', 'context.delivered']) {
    it(`reports a run that was killed at ${place}, and nothing twice`, async () => {
      await started();
      const number = await world.newIssue(issueText);
      const args = ['plan-issue', '--owner', 'demo', '--repo', 'hello', '--number', String(number)];
      const killed = await world.command(args, { CORE_CRASH_AT: place });
      expect(killed.signal).to.equal('SIGKILL');
      expect((await world.command(['sync'])).code).to.equal(0);
      const once = graph();
      expect(once).to.include({ ReasoningRun: 1, Task: 1, Action: 7 });
      const { run_id, status } = (await world.agent.runs({ limit: 1 })).runs[0]!;
      expect(status).to.equal('awaiting_approval');
      for (let round = 0; round < 3; round++) {
        const again = await world.command(['sync', '--full', '--json']);
        expect(JSON.parse(again.stdout).context.delivered).to.deep.equal([run_id]);
      }
      expect(graph()).to.deep.equal(once);
    });
  }

  it('reports everything again to a service that has lost its record, and to a new one', async () => {
    const first = await started();
    const run = await planned();
    await world.approve(run);
    await first.close();
    running.splice(0);
    rmSync(join(world.home, 'state/context'), { recursive: true });
    await started();
    // The marker names another address, so that everything counts as undelivered.
    expect((await world.command(['sync'])).code).to.equal(0);
    expect(graph()).to.include({ ReasoningRun: 1, Action: 7 });
  });

  it('starts again with an outbox file that is broken or gone', async () => {
    await started();
    const run = await planned();
    const outbox = join(world.home, 'state/context-outbox.sqlite');
    await world.close();
    for (const suffix of ['-wal', '-shm']) rmSync(outbox + suffix, { force: true });
    writeFileSync(outbox, 'not a database, but long enough to be looked at as one '.repeat(100));
    const report = JSON.parse((await world.command(['sync', '--json'])).stdout);
    expect(report.context.delivered).to.deep.equal([run.run_id]);
    expect(graph()).to.include({ ReasoningRun: 1 });
  });
});

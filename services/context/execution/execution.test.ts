import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import {
  at,
  rejected,
  runIdOf,
  sampleOutcome,
  samplePlan,
} from '../../../test/fixtures/context/sample-execution.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { Memory } from '../memory/memory.ts';
import { nodeId } from '../record/node-id.ts';
import { openRecord, Readers, Writer } from '../store/access.ts';
import { Execution } from './execution.ts';

describe('the execution graph', () => {
  let close: () => Promise<void>;
  let execution: Execution;
  let memory: Memory;
  let writer: Writer;
  let look: DatabaseSync;

  beforeEach(() => {
    const record = openRecord(temporaryFolder());
    writer = new Writer(record.path);
    const readers = new Readers(record.path, 1);
    memory = new Memory({ writer, readers, path: record.path });
    execution = new Execution({ writer, readers, memory });
    look = new DatabaseSync(record.path, { readOnly: true });
    close = async () => {
      look.close();
      await Promise.all([writer.close(), readers.close()]);
      record.close();
    };
  });

  afterEach(() => close());

  const all = (sql: string, ...values: string[]) =>
    look.prepare(sql).all(...values) as Record<string, unknown>[];
  const properties = (id: string) => {
    const row = look.prepare('SELECT properties FROM nodes WHERE id = ?').get(id) as { properties: string };
    return JSON.parse(row.properties);
  };
  const edges = (): string[] =>
    all(`SELECT f.id AS a, e.type || ' ' || e.kind AS type, coalesce(e.ordinal, '') AS ordinal, t.id AS b FROM edges e
         JOIN nodes f ON f.node = e.from_node JOIN nodes t ON t.node = e.to_node ORDER BY 1, 2, 4`).map(
      ({ a, type, ordinal, b }) => `${a} -${String(type).trim()}${ordinal}-> ${b}`,
    );
  const score = async (files: readonly string[] = ['src/greet.js'], repository = 'local/demo/hello') => {
    const { actions } = await execution.scorePaths({
      repository,
      role: 'Depute',
      actions: [{ kind: 'apply_patch', files: [...files] }],
    });
    return actions[0]!;
  };

  it('is the run, its task and its actions in their order, joined to issue and repository', async () => {
    await execution.recordPlan(samplePlan());
    const run = runIdOf(1);
    expect(edges()).to.deep.equal([
      `action:${run}/act_1_00000000 -NEXT_ACTION-> action:${run}/act_2_00000000`,
      `agent:Depute -CORE_RELATION has_run-> run:${run}`,
      `issue:local/demo/hello#1 -CORE_RELATION has_run-> reasoning:${run}`,
      `issue:local/demo/hello#1 -CORE_RELATION has_run-> run:${run}`,
      `reasoning:${run} -PLANS_FOR-> task:local/demo/hello#1`,
      `reasoning:${run} -PROPOSES1-> action:${run}/act_1_00000000`,
      `reasoning:${run} -PROPOSES2-> action:${run}/act_2_00000000`,
      'repo:local/demo/hello -CORE_RELATION has_issue-> issue:local/demo/hello#1',
      `repo:local/demo/hello -CORE_RELATION has_run-> reasoning:${run}`,
      `run:${run} -CORE_RELATION has_artifact-> artifact:${'c'.repeat(64)}`,
    ]);
    expect(properties(nodeId.reasoning(run))).to.include({
      run_id: run,
      agent: 'Depute',
      status: 'awaiting_approval',
      summary: 'Depute proposed 2 actions: create_branch, apply_patch',
      model_provider: null,
      model_tier: null,
      recovery_branch: 'core/1-greeting-0199f3c271ab',
    });
    expect(properties(nodeId.task('local/demo/hello', 1))).to.include({
      forge: 'local',
      owner: 'demo',
      repo: 'hello',
      number: 1,
    });
    expect(properties(nodeId.action(run, 'act_2_00000000'))).to.include({
      action_id: 'act_2_00000000',
      kind: 'apply_patch',
      risk: 'low',
      risk_score: 5,
      approval: 'required',
      dry_run: false,
      ordinal: 2,
    });
    expect(properties(nodeId.run(run))).to.include({ recovery_branch: 'core/1-greeting-0199f3c271ab' });
  });

  it('has a task of no issue as one of its own for each run', async () => {
    const { issue } = samplePlan();
    for (const index of [1, 2])
      await execution.recordPlan(
        samplePlan(index, { issue: { ...issue, number: null, title: 'Greet strangers' } }),
      );
    const tasks = edges().filter((edge) => edge.includes('PLANS_FOR'));
    expect(tasks).to.deep.equal(
      [1, 2].map(
        (index) => `reasoning:${runIdOf(index)} -PLANS_FOR-> task:local/demo/hello#${runIdOf(index)}`,
      ),
    );
    const id = nodeId.issue('local/demo/hello', runIdOf(1));
    expect(properties(id)).to.include({ number: null });
    expect(all('SELECT title FROM nodes WHERE id = ?', id)).to.deep.equal([
      { title: 'demo/hello Greet strangers' },
    ]);
  });

  it('records how the run ended, and an older message overwrites nothing', async () => {
    await execution.recordPlan(samplePlan());
    const run = runIdOf(1);
    const merged = { number: 2, url: null, state: 'merged' as const, checks: 'passed' as const, at: at(500) };
    const newest = sampleOutcome(1, 12, [{}, {}], { pull_request: merged });
    expect(await execution.recordOutcome(newest)).to.deep.equal({
      run_id: run,
      recorded: true,
      plan_known: true,
      problems: [],
    });
    expect((await execution.recordOutcome(sampleOutcome(1, 9))).recorded).to.equal(false);
    expect((await execution.recordPlan(samplePlan())).recorded).to.equal(false);
    expect(properties(nodeId.reasoning(run))).to.include({
      status: 'completed',
      validation_passed: true,
      pull_request: 2,
      pull_request_state: 'merged',
      checks: 'passed',
      cost: 0,
    });
    expect(properties(nodeId.action(run, 'act_1_00000000'))).to.include({
      approval: 'approved',
      state: 'succeeded',
    });
  });

  it('is the same in whatever order and however often it is reported', async () => {
    const plan = samplePlan();
    const outcome = sampleOutcome(1, 9, [{}, rejected('too broad')], {
      episodes: [{ seq: 6, at: at(62), speaker: 'mira', text: 'rejected 2 apply_patch: too broad' }],
    });
    expect((await execution.recordOutcome(outcome)).plan_known).to.equal(false);
    expect(all('SELECT id FROM nodes')).to.deep.equal([]);
    const snapshot = () => [
      all('SELECT id, label, kind, title, properties FROM nodes ORDER BY id').filter(
        ({ label }) => label !== 'Memory',
      ),
      edges().length,
      all("SELECT title FROM nodes WHERE label = 'Memory' ORDER BY title"),
      all('SELECT * FROM action_cases'),
    ];
    await execution.recordPlan(plan);
    await execution.recordOutcome(outcome);
    const once = snapshot();
    for (let round = 0; round < 3; round++) {
      await execution.recordOutcome(outcome);
      await execution.recordPlan(plan);
    }
    expect(snapshot()).to.deep.equal(once);
    expect(once[2]).to.have.length(3);
  });

  it('remembers why a person rejected, until they think better of it', async () => {
    await execution.recordPlan(samplePlan());
    await execution.recordOutcome(sampleOutcome(1, 9, [{}, rejected('touches the wrong file')]));
    const about = [nodeId.issue('local/demo/hello', 1)];
    const asked = async () => {
      const query = { query: 'rejected wrong file', layer: 'semantic', limit: 5, about };
      const { results } = await memory.lookup({ ...query, as_of: undefined, session: undefined });
      return results.map(({ text, valid_to, source }) => ({ text, open: valid_to === null, source }));
    };
    const rejection =
      'mira rejected apply_patch (1 file, +1 −1  src/greet.js) for local/demo/hello#1: touches the wrong file';
    expect(await asked()).to.deep.equal([{ text: rejection, open: true, source: 'mira' }]);

    const before = { by: 'mira', at: at(120), reason: 'touches the wrong file' };
    await execution.recordOutcome(
      sampleOutcome(1, 11, [{}, { decided_at: at(130), earlier_rejections: [before] }]),
    );
    expect((await asked()).map(({ text }) => text)).to.not.include(rejection);
  });

  it('remembers one decision about several actions once, and what holds of it after a change of mind', async () => {
    await execution.recordPlan(samplePlan());
    const both = [rejected('nobody asked'), rejected('nobody asked')];
    await execution.recordOutcome(sampleOutcome(1, 9, both));
    const open = async () => {
      const query = {
        query: 'create_branch apply_patch',
        layer: 'semantic',
        limit: 5,
        as_of: undefined,
        session: undefined,
      };
      const about = [nodeId.run(runIdOf(1))];
      const { results } = await memory.lookup({ ...query, about } as const);
      return results.filter(({ valid_to }) => valid_to === null).map(({ text }) => text);
    };
    const branch = 'create_branch (core/1-greeting)';
    const patch = 'apply_patch (1 file, +1 −1  src/greet.js)';
    expect(await open()).to.deep.equal([
      `mira rejected ${branch}, ${patch} for local/demo/hello#1: nobody asked`,
    ]);

    const before = { by: 'mira', at: at(120), reason: 'nobody asked' };
    const approved = { state: 'pending' as const, decided_at: at(130), earlier_rejections: [before] };
    await execution.recordOutcome(sampleOutcome(1, 11, [approved, rejected('nobody asked')]));
    const kept = `mira rejected ${patch} for local/demo/hello#1: nobody asked`;
    expect(await open()).to.deep.equal([`${kept}; mira approved ${branch} for local/demo/hello#1`]);
    await execution.recordOutcome(sampleOutcome(1, 12, [approved, approved]));
    expect(await open()).to.deep.equal([`mira approved ${branch}, ${patch} for local/demo/hello#1`]);
  });

  it('brings back nothing that people had forgotten', async () => {
    await execution.recordPlan(samplePlan());
    const ends = [{}, rejected('touches the wrong file')];
    const episodes = [{ seq: 6, at: at(62), speaker: 'mira', text: 'rejected 2 apply_patch' }];
    await execution.recordOutcome(sampleOutcome(1, 9, ends, { episodes }));
    const count = () => all("SELECT count(*) AS n FROM nodes WHERE label = 'Memory'")[0]!.n;
    expect(count()).to.equal(3);
    await memory.forget({ id: undefined, source: 'mira', reason: 'asked to' }, 'mira');
    expect(count()).to.equal(1);
    await execution.recordOutcome(sampleOutcome(1, 9, ends, { episodes }));
    await execution.recordOutcome(sampleOutcome(1, 12, ends, { episodes }));
    expect(count()).to.equal(1);
  });

  it('scores by what became of like actions, and one case does not decide', async () => {
    const nobody = await score();
    expect(nobody).to.deep.include({ score: 0.667, expected: 0.667, cases: [] });

    await execution.recordPlan(samplePlan(1));
    await execution.recordOutcome(sampleOutcome(1, 9, [{}, rejected('too broad')]));
    const one = await score();
    expect(one).to.include({ score: 0.5, expected: 0.667 });
    expect(one.counts).to.include({ rejected: 1, succeeded: 0 });
    expect(one.cases).to.deep.equal([
      {
        run_id: runIdOf(1),
        action_id: 'act_2_00000000',
        repository: 'local/demo/hello',
        outcome: 'rejected',
        at: at(120),
        reason: 'too broad',
      },
    ]);

    for (let index = 2; index <= 11; index++) {
      await execution.recordPlan(samplePlan(index));
      await execution.recordOutcome(sampleOutcome(index));
    }
    const many = await score();
    expect(many.score).to.be.above(0.8);
    expect(many.counts).to.include({ rejected: 1, succeeded: 10 });
    expect(many.cases).to.have.length(5);
  });

  it('counts what happened elsewhere less, in other repositories and other folders', async () => {
    await execution.recordPlan(samplePlan(1));
    await execution.recordOutcome(sampleOutcome(1, 9, [{}, { state: 'failed', message: 'does not apply' }]));
    const here = await score();
    const otherFolder = await score(['docs/readme.md']);
    const otherRepository = await score(['src/greet.js'], 'local/demo/other');
    expect(here.score).to.be.below(otherFolder.score);
    expect(otherFolder.score).to.be.below(otherRepository.score);
    expect(otherRepository.score).to.be.below(otherRepository.expected);
  });

  it('learns nothing from rehearsals, from what was blocked, and takes a merged or closed pull request as the last word', async () => {
    const rehearsal = samplePlan(1);
    await execution.recordPlan({
      ...rehearsal,
      actions: rehearsal.actions.map((action) => ({ ...action, dry_run: true })),
    });
    await execution.recordOutcome(sampleOutcome(1));
    await execution.recordPlan(samplePlan(2));
    await execution.recordOutcome(sampleOutcome(2, 9, [{}, { state: 'blocked', finished_at: null }]));
    expect((await score()).cases).to.deep.equal([]);

    const pull = { number: 7, url: null, checks: 'failed' as const, at: at(900) };
    await execution.recordPlan(samplePlan(3));
    await execution.recordOutcome(sampleOutcome(3));
    expect((await score()).counts).to.include({ succeeded: 1 });
    await execution.recordOutcome(
      sampleOutcome(3, 15, [{}, {}], { pull_request: { ...pull, state: 'closed' } }),
    );
    expect((await score()).counts).to.include({ succeeded: 0, closed: 1 });
    expect((await score()).cases[0]).to.include({ reason: 'pull request #7, checks failed', at: at(900) });
  });
});

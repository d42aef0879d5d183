import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { OutcomeRecord, PlanRecord } from '#kit/contracts/context/execution.ts';
import { decode } from '#kit/decode.ts';
import type { InvalidInput } from '#kit/errors.ts';
import { at, rejected, sampleOutcome, samplePlan } from '../../../test/fixtures/context/sample-execution.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { Memory } from '../memory/memory.ts';
import { openRecord, Readers, Writer } from '../store/access.ts';
import { Execution } from './execution.ts';

describe('what is reported of a run', () => {
  let close: () => Promise<void>;
  let execution: Execution;
  let memory: Memory;
  let look: DatabaseSync;

  beforeEach(() => {
    const record = openRecord(temporaryFolder());
    const writer = new Writer(record.path);
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

  const all = (sql: string) => look.prepare(sql).all() as Record<string, unknown>[];

  it('masks secrets wherever they stand, before anything is written', async () => {
    const secret = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
    const { issue, actions, ...plan } = samplePlan();
    await execution.recordPlan({
      ...plan,
      issue: { ...issue, title: secret, body: secret, author: secret },
      title: secret,
      summary: secret,
      actions: actions.map((action) => ({ ...action, title: `with ${secret}` })),
    });
    await execution.recordOutcome(
      sampleOutcome(1, 9, [{ message: secret }, rejected(`because of ${secret}`)], {
        summary: `ended with ${secret}`,
        errors: [{ code: 'failed', message: secret }],
        episodes: [{ seq: 6, at: at(62), speaker: 'mira', text: `said ${secret}` }],
      }),
    );
    for (const table of ['nodes', 'bodies', 'executions', 'action_cases', 'memories'])
      expect(JSON.stringify(all(`SELECT * FROM ${table}`)), table)
        .to.contain('[redacted github_token]')
        .and.not.contain(secret);
  });

  it('refuses two actions with one id or one place, and names them', async () => {
    const plan = samplePlan();
    const { actions } = plan;
    const twice = await refusal(execution.recordPlan({ ...plan, actions: [...actions, actions[0]!] }));
    expect(twice).to.include({ code: 'invalid_input', status: 400 });
    expect(twice.errors.map(({ pointer }) => pointer)).to.deep.equal([
      '/actions/2/action_id',
      '/actions/2/ordinal',
    ]);
    expect(twice.message).to.contain('act_1_00000000').and.contain('/actions/0');
    await execution.recordPlan(plan);
    const outcome = sampleOutcome();
    const refused = await refusal(
      execution.recordOutcome({ ...outcome, actions: [...outcome.actions, outcome.actions[1]!] }),
    );
    expect(refused.errors.map(({ pointer }) => pointer)).to.deep.equal(['/actions/2/action_id']);
    expect((await execution.recordOutcome(outcome)).recorded).to.equal(true);
  });

  it('refuses text that would not come back as it was', () => {
    for (const text of ['a\0b', 'a\ud800b']) {
      expect(() => decode(PlanRecord, samplePlan(1, { summary: text }), 'it')).to.throw('/summary');
      expect(() => decode(OutcomeRecord, sampleOutcome(1, 9, [{ reason: text }]), 'it')).to.throw('/reason');
    }
  });

  it('has the order of the newest plan alone, without what that dropped', async () => {
    const plan = samplePlan();
    const [first, second] = plan.actions;
    const third = { ...second!, action_id: 'act_3_00000000', ordinal: 3 };
    const steps = () =>
      all(`SELECT e.type || ' ' || t.id AS step FROM edges e JOIN nodes t ON t.node = e.to_node
           WHERE e.type IN ('PROPOSES', 'NEXT_ACTION') ORDER BY 1`).map(({ step }) =>
        String(step).replace(`action:${plan.run_id}/`, ''),
      );
    await execution.recordPlan({ ...plan, actions: [first!, second!, third] });
    await execution.recordPlan({
      ...plan,
      seq: plan.seq + 1,
      actions: [
        { ...first!, ordinal: 2 },
        { ...third, ordinal: 1 },
      ],
    });
    expect(steps()).to.deep.equal([
      'NEXT_ACTION act_1_00000000',
      'PROPOSES act_1_00000000',
      'PROPOSES act_3_00000000',
    ]);
    expect(all("SELECT id FROM nodes WHERE label = 'Action'")).to.have.length(2);
  });

  it('has the issue as the newest plan read it, whichever run is reported last', async () => {
    const old = samplePlan(1);
    const issue = { ...old.issue, title: 'NEW title', state: 'closed', body: 'new words' };
    const read = () => [
      all("SELECT title, properties ->> '$.state' AS state FROM nodes WHERE kind = 'issue'"),
      all("SELECT title, properties ->> '$.title' AS said FROM nodes WHERE kind = 'task'"),
      all("SELECT text FROM bodies JOIN nodes USING (node) WHERE kind = 'issue'"),
    ];
    await execution.recordPlan(old);
    await execution.recordPlan(samplePlan(2, { issue }));
    const newest = read();
    expect(JSON.stringify(newest)).to.contain('NEW title').and.contain('closed').and.contain('new words');
    await execution.recordOutcome(sampleOutcome(1));
    await execution.recordPlan({ ...old, seq: old.seq + 1 });
    expect(read()).to.deep.equal(newest);
  });

  it('forgets with a memory what the run itself has of its words, and does not take them again', async () => {
    const reason = 'my phone number is in it';
    const outcome = sampleOutcome(1, 9, [{}, rejected(reason)], {
      summary: `Two proposed. mira rejected apply_patch: ${reason}. Over.`,
    });
    await execution.recordPlan(samplePlan());
    await execution.recordOutcome(outcome);
    const tables = ['nodes', 'bodies', 'executions', 'action_cases'];
    const said = () =>
      tables.filter((table) => {
        const rows = all(`SELECT * FROM ${table}`).filter(({ label }) => label !== 'Memory');
        return JSON.stringify(rows).includes(reason);
      });
    expect(said()).to.deep.equal(tables);
    const reply = await memory.forget({ id: undefined, source: 'mira', reason: null }, 'mira');
    expect(reply).to.include({ forgotten: 1 });
    expect(said()).to.deep.equal([]);
    await execution.recordOutcome(outcome);
    await execution.recordOutcome({ ...outcome, seq: 12 });
    await execution.recordPlan({ ...samplePlan(), seq: 13 });
    expect(said()).to.deep.equal([]);
    const [action] = all("SELECT properties FROM nodes WHERE id LIKE 'action:%/act_2_%'");
    expect(JSON.parse(String(action!.properties))).to.include({ approval: 'rejected', reason: null });
  });
});

async function refusal(promise: Promise<unknown>): Promise<InvalidInput> {
  return promise.then(
    () => expect.fail('it was accepted'),
    (error) => error,
  );
}

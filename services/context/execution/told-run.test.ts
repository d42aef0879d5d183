import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { OutcomeRecord, PlanRecord } from '#kit/contracts/context/execution.ts';
import { decode } from '#kit/decode.ts';
import type { InvalidInput } from '#kit/errors.ts';
import { at, rejected, sampleOutcome, samplePlan } from '../../../test/fixtures/context/sample-execution.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { Memory } from '../memory/memory.ts';
import { openRecord } from '../record/open-record.ts';
import { Readers } from '../record/readers.ts';
import { Writer } from '../record/writer.ts';
import { Execution } from './execution.ts';

describe('what is told of a run', () => {
  let close: () => Promise<void>;
  let execution: Execution;
  let look: DatabaseSync;

  beforeEach(() => {
    const record = openRecord(temporaryFolder());
    const writer = new Writer(record.path);
    const readers = new Readers(record.path, 1);
    const memory = new Memory({ writer, readers, path: record.path });
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
    const told = await refusal(
      execution.recordOutcome({ ...outcome, actions: [...outcome.actions, outcome.actions[1]!] }),
    );
    expect(told.errors.map(({ pointer }) => pointer)).to.deep.equal(['/actions/2/action_id']);
    expect((await execution.recordOutcome(outcome)).recorded).to.equal(true);
  });

  it('refuses text that would not come back as it was', () => {
    for (const text of ['a\0b', 'a\ud800b']) {
      expect(() => decode(PlanRecord, samplePlan(1, { summary: text }), 'it')).to.throw('/summary');
      expect(() => decode(OutcomeRecord, sampleOutcome(1, 9, [{ reason: text }]), 'it')).to.throw('/reason');
    }
  });
});

async function refusal(promise: Promise<unknown>): Promise<InvalidInput> {
  return promise.then(
    () => expect.fail('it was accepted'),
    (error) => error,
  );
}

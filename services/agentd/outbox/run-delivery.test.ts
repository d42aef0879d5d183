import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import type { RecordedReply } from '#kit/contracts/context/execution.ts';
import { sha256 } from '#kit/digest.ts';
import { Interrupted, Refused, Unavailable } from '#kit/errors.ts';
import { decided, planned, sampleRequest } from '../../../test/contract/run-store.sample.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { runStoreIn } from '../../../test/fixtures/runs/run-store-in.ts';
import type { DatabaseRunStore } from '../runs/database-run-store.ts';
import { agentdSchema } from '../schema.ts';
import { ContextOutbox } from './context-outbox.ts';
import { type ContextWriter, RunDelivery } from './run-delivery.ts';

const { signal } = new AbortController();

describe('the delivery of a run', () => {
  let store: DatabaseRunStore;
  let outbox: ContextOutbox;
  let runId: string;
  let received: string[];

  beforeEach(async () => {
    const stateDir = temporaryFolder();
    store = runStoreIn(stateDir);
    outbox = new ContextOutbox(stateDir, 'http://127.0.0.1:8090');
    received = [];
    runId = (await store.create(sampleRequest())).run_id;
    for (const content of ['content', 'one']) await store.putArtifact(runId, content);
    await store.append(runId, () => planned(runId, 1));
    // As `prune` leaves it: what outsiders wrote is gone.
    const client = new DatabaseSync(join(stateDir, agentdSchema.file));
    client.prepare('DELETE FROM run_artifacts WHERE digest = ?').run(sha256('content'));
    client.close();
  });

  afterEach(() => {
    outbox.close();
    store.close();
  });

  /** A context service that knows the plans it was given, and fails with each of these errors first. */
  function deliveryTo(...errors: Error[]): RunDelivery {
    const plans = new Set<string>();
    const reply = (what: string, run_id: string): RecordedReply => {
      const error = errors.shift();
      if (error !== undefined) throw error;
      received.push(what);
      return { recorded: true, plan_known: plans.has(run_id) } as RecordedReply;
    };
    const context: ContextWriter = {
      name: 'core-context',
      async recordPlan({ run_id }) {
        plans.add(run_id);
        return reply('plan', run_id);
      },
      recordOutcome: async ({ run_id }) => reply('outcome', run_id),
    };
    return new RunDelivery(store, outbox, context);
  }

  it('is made once, until the log of the run grows', async () => {
    const delivery = deliveryTo();
    expect(await delivery.pending()).to.deep.equal([runId]);
    expect(await delivery.deliver(runId, signal)).to.equal(true);
    expect(await delivery.deliver(runId, signal)).to.equal(false);
    expect(received).to.deep.equal(['plan', 'outcome']);
    expect(await delivery.pending()).to.deep.equal([]);
  });

  it('is given up where core-context refuses the record, with the reason, and is not pending any more', async () => {
    const delivery = deliveryTo(new Refused('not_allowed', 'this record is not allowed'));
    expect(await delivery.deliver(runId, signal)).to.equal(false);
    const refused = [{ run_id: runId, reason: 'this record is not allowed' }];
    expect(await delivery.deliverPending(signal)).to.deep.equal({
      ...{ delivered: [], waiting: [], reason: null, refused },
    });
    expect(outbox.cursor(runId)).to.include({ seq: 0 });
  });

  const passing: Readonly<Record<string, Error>> = {
    'core-context does not answer': new Unavailable('context_unavailable', 'no answer'),
    'the daemon ends': new Interrupted('interrupted', 'the daemon ends'),
    'anything else is wrong': new TypeError('not a function'),
  };
  for (const [what, error] of Object.entries(passing)) {
    it(`stays pending where ${what}, and is made by the next try`, async () => {
      const delivery = deliveryTo(error);
      expect(await delivery.deliver(runId, signal).catch((thrown) => thrown)).to.equal(error);
      expect([outbox.cursor(runId), await delivery.pending()]).to.deep.equal([null, [runId]]);
      expect(await delivery.deliverPending(signal)).to.deep.include({ delivered: [runId], refused: [] });
    });
  }

  it('begins again with the plan where core-context lost it', async () => {
    await deliveryTo().deliver(runId, signal);
    await store.append(runId, ({ actions }) => [decided(actions[0]!.definition)]);
    received = [];
    expect(await deliveryTo().deliver(runId, signal)).to.equal(true);
    expect(received).to.deep.equal(['outcome', 'plan', 'outcome']);
  });

  it('begins again where a fail-over put other events in the place of what was delivered', async () => {
    await store.append(runId, ({ actions }) => [decided(actions[0]!.definition)]);
    await deliveryTo().deliver(runId, signal);
    const cursor = outbox.cursor(runId)!;
    // As if it had been another decision that was lost.
    outbox.advance(runId, cursor, { ...cursor, hash: sha256('another'), size: cursor.size + 1 });
    received = [];
    const delivery = deliveryTo();
    expect(await delivery.pending()).to.deep.equal([runId]);
    expect(await delivery.deliver(runId, signal)).to.equal(true);
    expect(received).to.deep.equal(['plan', 'outcome']);
    expect([outbox.cursor(runId), await delivery.pending()]).to.deep.equal([cursor, []]);
  });
});

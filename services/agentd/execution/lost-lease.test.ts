import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import { Conflict, codeOf } from '#kit/errors.ts';
import { decided, planned, sampleAction, sampleRequest } from '../../../test/contract/run-store.sample.ts';
import { withoutRules } from '../../../test/fixtures/approved/without-rules.ts';
import { failure } from '../../../test/fixtures/failure.ts';
import { type PostgresServer, startPostgres } from '../../../test/fixtures/postgres.ts';
import { runStoreIn } from '../../../test/fixtures/runs/run-store-in.ts';
import { until } from '../../../test/fixtures/until.ts';
import { describeWith } from '../../../test/needs.ts';
import { actionKinds } from '../action.ts';
import type { ActionExecutor } from '../actions/executor.ts';
import type { ActionDefinition, Executors } from '../actions/registry.ts';
import type { Person } from '../agent.ts';
import { DatabaseRunStore } from '../runs/database-run-store.ts';
import type { NewEvent } from '../runs/event.ts';
import type { RunStore } from '../runs/run-store.ts';
import { agentdSchema } from '../schema.ts';
import { executeApproved } from './execute-approved.ts';
import { undoRun } from './undo-run.ts';

const by = { name: 'mira' } as Person;
const idle = { progress: () => {}, signal: new AbortController().signal };

/** Of two actions. */
function planOf(runId: string): NewEvent[] {
  const action = sampleAction(runId, 2, 'open_pull_request');
  return planned(runId, 1).flatMap((event): NewEvent[] => {
    if (event.type !== 'plan_sealed') return [event];
    const { plan } = event.data;
    const sealed = [...plan.sealed, { action_id: action.action_id, digest: action.digest }];
    return [
      { type: 'action_proposed', data: { action } },
      { ...event, data: { plan: { ...plan, sealed } } },
    ];
  });
}

/** An execution and an undo of two actions, of which the first loses the lease while its effect is under way. */
class Scene {
  readonly store: RunStore;
  /** What performing and taking back meets. */
  meanwhile: () => Promise<void> = async () => {};
  readonly effects: string[] = [];
  runId = '';

  constructor(store: RunStore) {
    this.store = store;
  }

  async approve(): Promise<void> {
    this.runId = (await this.store.create(sampleRequest())).run_id;
    for (const content of ['content', 'one']) await this.store.putArtifact(this.runId, content);
    await this.store.append(this.runId, () => planOf(this.runId));
    await this.store.append(this.runId, ({ actions }) =>
      actions.map(({ definition }) => decided(definition)),
    );
  }

  execute(kind: 'execute' | 'resume') {
    const options = { run_id: this.runId, kind, actions: null, repo_dir: null, dry_run: false, by };
    return executeApproved(this.#parts(), options, idle);
  }

  undo() {
    return undoRun(this.#parts(), { run_id: this.runId, by }, idle);
  }

  async types(): Promise<string[]> {
    return (await this.store.events(this.runId)).map(({ type }) => type);
  }

  #parts() {
    return {
      store: this.store,
      executors: async () => this.#executors(),
      lookAtBase: () => Promise.reject(new Conflict('unknown', 'there is no base')),
      lookAtIssue: async () => null,
      lookAtName: async () => ({ owner: 'demo', repo: 'hello' }),
      checkouts: [],
      approvals: () => withoutRules,
      approvalsFresh: async () => {},
    };
  }

  #executors(): Executors {
    const executor: ActionExecutor<ActionDefinition> = {
      check: async () => {},
      render: async () => ({ bytes: {}, forge_time: null, operation_before: null }),
      perform: async ({ action }) => {
        this.effects.push(`do ${action.kind}`);
        await this.meanwhile();
        return { succeeded: true, message: 'made', facts: {}, vcs: null };
      },
      reconcile: async () => ({
        kind: 'done',
        effect: { succeeded: true, message: 'made', facts: {}, vcs: null },
      }),
      undoing: async ({ action }) => ({
        effect: 'undo',
        message: '',
        act: async () => {
          this.effects.push(`undo ${action.kind}`);
          await this.meanwhile();
          return { state: 'undone', message: 'gone' };
        },
      }),
    };
    return Object.fromEntries(actionKinds.map((kind) => [kind, executor])) as unknown as Executors;
  }
}

/** What holds on each store. */
function losing(open: () => Scene): void {
  /** What is leased next is lost while the first effect is under way. */
  function losesItsLease(scene: Scene): void {
    const stop = new AbortController();
    const lease = scene.store.lease.bind(scene.store);
    scene.store.lease = async (name) => {
      const real = await lease(name);
      return { ...real, lost: stop.signal };
    };
    scene.meanwhile = async () => {
      stop.abort(new Conflict('lease_lost', 'the machine slept'));
      scene.store.lease = lease;
      scene.meanwhile = async () => {};
    };
  }

  it('leaves an execution unfinished, and its other actions alone, for whoever resumes it', async () => {
    const scene = open();
    await scene.approve();
    losesItsLease(scene);
    expect(codeOf(await failure(scene.execute('execute')))).to.equal('lease_lost');
    expect(scene.effects).to.deep.equal(['do create_branch']);
    expect(await scene.types()).not.to.contain('execution_finished');
    expect((await scene.store.read(scene.runId)).status).to.equal('interrupted');
    const { actions, execution } = await scene.execute('resume');
    expect(actions.map(({ state }) => state)).to.deep.equal(['succeeded', 'succeeded']);
    expect(execution?.finished).to.equal(true);
    expect(scene.effects).to.deep.equal(['do create_branch', 'do open_pull_request']);
  });

  it('leaves an undo unfinished, for whoever undoes it', async () => {
    const scene = open();
    await scene.approve();
    await scene.execute('execute');
    losesItsLease(scene);
    scene.effects.length = 0;
    expect(codeOf(await failure(scene.undo()))).to.equal('lease_lost');
    expect(scene.effects).to.deep.equal(['undo open_pull_request']);
    expect(await scene.types()).not.to.contain('undo_finished');
    expect((await scene.undo()).status).to.equal('undone');
    expect((await scene.types()).filter((type) => type === 'undo_finished')).to.have.length(1);
  });
}

describe('a lease that is lost in the middle, of runs in files', () => {
  let stateDir: string;
  let store: DatabaseRunStore;

  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), 'core-lost-lease-'));
    store = runStoreIn(stateDir);
  });

  afterEach(() => {
    store.close();
    rmSync(stateDir, { recursive: true });
  });

  losing(() => new Scene(store));
});

describeWith(['postgres'], 'a lease that is lost in the middle, of runs in PostgreSQL', () => {
  let server: PostgresServer;
  let settings: PostgresSettings;
  let stateDir: string;
  let store: DatabaseRunStore;

  before(async () => {
    server = await startPostgres();
  });

  after(() => server.stop());

  beforeEach(async () => {
    settings = await server.database();
    stateDir = mkdtempSync(join(tmpdir(), 'core-lost-lease-'));
    store = new DatabaseRunStore({
      stateDir,
      database: openPostgres(settings, 'core-test', { schema: agentdSchema }),
      leaseMs: 900,
    });
  });

  afterEach(async () => {
    await store.close();
    rmSync(stateDir, { recursive: true });
  });

  losing(() => new Scene(store));

  /** As another host does when the lease has expired. */
  const take = (name: string) =>
    server.ask(settings, 'UPDATE leases SET token = gen_random_uuid()::text WHERE name LIKE $1', [
      `${name} %`,
    ]);

  const deleteLeases = () => server.ask(settings, 'DELETE FROM leases');

  for (const name of ['run', 'branch']) {
    it(`leaves an execution unfinished whose lease of the ${name} another took`, async () => {
      const scene = new Scene(store);
      await scene.approve();
      scene.meanwhile = async () => {
        await take(name);
        // Longer than the holder goes without renewing it.
        await setTimeout(500);
      };
      expect(codeOf(await failure(scene.execute('execute')))).to.equal('lease_lost');
      expect(scene.effects).to.deep.equal(['do create_branch']);
      expect(await scene.types()).not.to.contain('execution_finished');
      await deleteLeases();
      scene.meanwhile = async () => {};
      const { actions } = await until('the resumed run', () => scene.execute('resume').catch(() => null));
      expect(actions.map(({ state }) => state)).to.deep.equal(['succeeded', 'succeeded']);
    });
  }

  it('leaves an undo unfinished whose lease another took', async () => {
    const scene = new Scene(store);
    await scene.approve();
    await scene.execute('execute');
    scene.effects.length = 0;
    scene.meanwhile = async () => {
      await take('run');
      await setTimeout(500);
    };
    expect(codeOf(await failure(scene.undo()))).to.equal('lease_lost');
    expect(scene.effects).to.deep.equal(['undo open_pull_request']);
    expect(await scene.types()).not.to.contain('undo_finished');
    await deleteLeases();
    scene.meanwhile = async () => {};
    expect((await until('the undone run', () => scene.undo().catch(() => null))).status).to.equal('undone');
  });
});

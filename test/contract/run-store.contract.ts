import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { risks } from '#kit/contracts/vocabulary.ts';
import { sha256 } from '#kit/digest.ts';
import { codeOf } from '#kit/errors.ts';
import type { Risk } from '../../services/agentd/action.ts';
import type { DataOf, NewEvent } from '../../services/agentd/runs/event.ts';
import {
  executorLease,
  type RunNeed,
  type RunQuery,
  type RunStore,
} from '../../services/agentd/runs/run-store.ts';
import { failure } from '../fixtures/failure.ts';
import { until } from '../fixtures/until.ts';
import {
  decided,
  executionStarted,
  intended,
  planned,
  resulted,
  sampleAction,
  sampleRequest,
  sourceRead,
  turn,
} from './run-store.sample.ts';

/** A store under test. `another` opens a second one on the same runs, as another process would. */
export interface StoreUnderTest {
  readonly store: RunStore;
  another(): RunStore;
  end(): Promise<void>;
}

export function runStoreContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`run store: ${name}`, () => {
    let under: StoreUnderTest;
    let store: RunStore;

    beforeEach(async () => {
      under = await open();
      store = under.store;
    });

    afterEach(() => under.end());

    it('makes a run that is planning and can be read again', async () => {
      const created = await store.create(sampleRequest());
      expect(created.run_id).to.match(/^run_[0-9a-f-]{36}$/);
      expect(created.status).to.equal('planning');
      expect(created.head.seq).to.equal(1);
      const read = await under.another().read(created.run_id);
      expect(read.request).to.deep.equal(sampleRequest());
      expect(read.head).to.deep.equal(created.head);
    });

    it('shows what another store appended', async () => {
      const { run_id } = await store.create(sampleRequest());
      const other = under.another();
      await other.append(run_id, () => planned(run_id));
      expect((await store.read(run_id)).status).to.equal('awaiting_approval');
      await store.append(run_id, ({ actions }) => [decided(actions[0]!.definition)]);
      expect((await other.read(run_id)).actions[0]?.approval).to.equal('approved');
    });

    it('chains events by their hashes, and gives back those after a number', async () => {
      const { run_id } = await store.create(sampleRequest());
      const run = await store.append(run_id, () => planned(run_id));
      const events = await store.events(run_id);
      expect(events.map(({ seq }) => seq)).to.deep.equal([1, 2, 3, 4, 5, 6, 7]);
      expect(events[0]?.prev).to.equal('0'.repeat(64));
      for (const [index, event] of events.slice(1).entries())
        expect(event.prev).to.equal(events[index]?.hash);
      expect(run.head).to.deep.equal({ seq: 7, hash: events.at(-1)?.hash });
      expect(await store.events(run_id, 5)).to.deep.equal(events.slice(5));
      expect(await store.events(run_id, 7)).to.deep.equal([]);
      expect(await store.events(run_id, 99)).to.deep.equal([]);
    });

    it('gives back exactly what a new store reads, so that nothing hides in memory', async () => {
      const { run_id } = await store.create(sampleRequest());
      const surplus = { ...turn().data, not_declared: 1 };
      const inMemory = await store.append(run_id, () => [{ type: 'planner_turn', data: surplus } as never]);
      expect(inMemory).to.deep.equal(await store.read(run_id));
      expect(await under.another().events(run_id)).to.deep.equal(await store.events(run_id));
      expect(JSON.stringify(await store.events(run_id))).not.to.contain('not_declared');
    });

    it('writes nothing when the decision refuses, is empty or is no event', async () => {
      const { run_id } = await store.create(sampleRequest());
      const refused = new Error('refused');
      const decide = (): never => {
        throw refused;
      };
      expect(await failure(store.append(run_id, decide))).to.equal(refused);
      await store.append(run_id, () => []);
      const wrong = [turn(), { type: 'planner_turn', data: {} } as never];
      expect(codeOf(await failure(store.append(run_id, () => wrong)))).to.equal('event_invalid');
      const unwritable = [{ type: 'planning_started', data: { pid: Number.NaN } } as const];
      expect(codeOf(await failure(store.append(run_id, () => unwritable)))).to.equal('event_invalid');
      expect(await store.events(run_id)).to.have.length(1);
      await store.append(run_id, () => [turn()]);
      expect(await store.events(run_id)).to.have.length(2);
    });

    it('keeps any text from outside, half characters made whole', async () => {
      const { run_id } = await store.create(sampleRequest());
      const reason = 'line\nfeed \u2028 "quotes" \\ud800 \0 emoji 😀';
      await store.append(run_id, () => [{ type: 'cancel_requested', data: { by: 'm', reason } }]);
      await store.append(run_id, () => [
        { type: 'cancel_requested', data: { by: 'm', reason: 'half \ud83d' } },
      ]);
      const [, first, second] = await under.another().events(run_id);
      expect(first?.data).to.deep.equal({ by: 'm', reason });
      expect(second?.data).to.deep.equal({ by: 'm', reason: 'half \ufffd' });
      const { data } = sourceRead as { data: DataOf<'source_read'> };
      const issue = { ...data.issue, title: 'a \0 b' };
      await store.append(run_id, () => [{ type: 'source_read', data: { ...data, issue } }]);
      expect((await under.another().read(run_id)).issue?.title).to.equal(issue.title);
      expect((await store.list({ limit: 1, text: 'b' })).runs).to.have.length(1);
    });

    it('finds a run by any beginning of its id that fits no other', async () => {
      const { run_id } = await store.create(sampleRequest());
      expect(await store.resolve(run_id)).to.equal(run_id);
      expect(await store.resolve(run_id.slice(4))).to.equal(run_id);
      expect(await store.resolve(run_id.slice(4, 12).toUpperCase())).to.equal(run_id);
      expect(await store.resolve(run_id.slice(0, 10))).to.equal(run_id);
      const second = await under.another().create(sampleRequest());
      expect(await store.resolve(second.run_id)).to.equal(second.run_id);
      const ambiguous = await failure(store.resolve('run_0'));
      expect(codeOf(ambiguous)).to.equal('run_ambiguous');
      expect(String(ambiguous)).to.contain(run_id).and.contain(second.run_id);
      expect(codeOf(await failure(store.resolve('run_ffff')))).to.equal('run_not_found');
    });

    it('finds the newest run by the word last', async () => {
      expect(codeOf(await failure(store.resolve('last')))).to.equal('run_not_found');
      await store.create(sampleRequest());
      const { run_id } = await under.another().create(sampleRequest());
      expect(await store.resolve('last')).to.equal(run_id);
    });

    it('takes by the word last the newest run of the repository in which somebody stands, if it has any', async () => {
      const first = await store.create(sampleRequest({ repo: 'first' }));
      const second = await store.create(sampleRequest({ repo: 'second' }));
      const { owner, forge } = first.request;
      const at = (repo: string) => store.resolve('last', { here: async () => ({ owner, repo, forge }) });
      expect(await at('first')).to.equal(first.run_id);
      expect(await at('third')).to.equal(second.run_id);
      expect(await store.resolve('last', { here: async () => null })).to.equal(second.run_id);
    });

    it('takes of an issue the run that waits with a plan before a planning that was cut off', async () => {
      const waits = await store.create(sampleRequest({ number: 7 }));
      await store.append(waits.run_id, () => planned(waits.run_id));
      const cut = await store.create(sampleRequest({ number: 7 }));
      expect(await store.resolve('7')).to.equal(waits.run_id);
      const second = await store.create(sampleRequest({ number: 7 }));
      await store.append(second.run_id, () => planned(second.run_id));
      const unclear = await failure(store.resolve('7'));
      expect(String(unclear)).to.contain(second.run_id).and.not.contain(cut.run_id);
      expect(unclear).to.have.property('hint').that.contains('core cancel RUN');
    });

    it('never chooses between repositories by what can be done with their runs', async () => {
      const ended = await store.create(sampleRequest({ number: 7, repo: 'ended' }));
      await store.append(ended.run_id, () => [
        { type: 'cancel_requested', data: { by: 'm', reason: null } },
        { type: 'run_cancelled', data: { message: 'cancelled by m' } },
      ]);
      const waits = await store.create(sampleRequest({ number: 7, repo: 'waits' }));
      const branch = decided(sampleAction(waits.run_id, 1, 'create_branch'));
      await store.append(waits.run_id, () => [...planned(waits.run_id), branch]);
      for (const need of ['show', 'decide', 'execute', 'resume', 'undo'] as const) {
        const unclear = await failure(store.resolve('7', { need }));
        expect(codeOf(unclear), need).to.equal('run_ambiguous');
        for (const { run_id, request } of [ended, waits])
          expect(String(unclear), need).to.contain(`${run_id}  ${request.owner}/${request.repo}#7  `);
        expect(unclear).to.have.property('hint').that.contains('owner/repo#NUMBER');
      }
      const here = async () => ({ owner: ended.request.owner, repo: 'ended' });
      expect(await store.resolve('7', { need: 'execute', here })).to.equal(ended.run_id);
      // The same name on another forge is another repository.
      const other = await store.create(sampleRequest({ number: 7, repo: 'waits', forge: 'other' }));
      const named = await failure(store.resolve(`${other.request.owner}/waits#7`, { need: 'execute' }));
      expect(codeOf(named)).to.equal('run_ambiguous');
      expect(String(named)).to.contain('#7  other  ');
      expect(await store.resolve('7', { forge: 'other' })).to.equal(other.run_id);
    });

    describe('of the runs of an issue, takes the one that a command can work with', () => {
      const first = 'act_1_create_branch';
      const begun = (runId: string) => [
        ...planned(runId),
        decided(sampleAction(runId, 1, 'create_branch')),
        executionStarted({ selected: [first] }),
        intended(first),
      ];
      const ended: NewEvent = {
        type: 'execution_finished',
        data: { execution_id: 'exe_1', stopped: null, message: 'done' },
      };
      const kinds = {
        failed: () => [
          { type: 'planning_started', data: { pid: 1 } },
          { type: 'planning_failed', data: { code: 'no_patch', message: 'no patch', retryable: false } },
        ],
        unreachable: () => [
          { type: 'planning_started', data: { pid: 1 } },
          { type: 'planning_failed', data: { code: 'forge_timeout', message: 'late', retryable: true } },
        ],
        cut: () => [],
        waits: (runId) => planned(runId),
        published: (runId) => [...begun(runId), resulted(first), ended],
        stopped: (runId) => begun(runId),
        rejected: (runId) => [
          ...planned(runId),
          ...[1, 2, 3].map((ordinal) =>
            decided(
              sampleAction(
                runId,
                ordinal,
                (['create_branch', 'apply_patch', 'commit'] as const)[ordinal - 1]!,
              ),
              'reject',
            ),
          ),
        ],
      } satisfies Record<string, (runId: string) => readonly NewEvent[]>;
      type Kind = keyof typeof kinds;
      const table: readonly (readonly [RunNeed, readonly Kind[], Kind])[] = [
        // The last of the list is the newest run.
        ['show', ['published', 'failed'], 'published'],
        ['show', ['published', 'unreachable'], 'published'],
        ['show', ['published', 'cut'], 'published'],
        ['show', ['rejected', 'failed'], 'rejected'],
        ['show', ['failed', 'cut'], 'cut'],
        ['show', ['waits', 'failed', 'cut'], 'waits'],
        ['show', ['stopped', 'failed'], 'stopped'],
        ['undo', ['published', 'failed'], 'published'],
        ['undo', ['published', 'cut'], 'published'],
        ['undo', ['published', 'waits'], 'published'],
        ['undo', ['published', 'rejected', 'failed'], 'published'],
        ['undo', ['stopped', 'waits'], 'stopped'],
        ['resume', ['stopped', 'failed'], 'stopped'],
        ['resume', ['unreachable', 'rejected'], 'unreachable'],
        ['resume', ['stopped', 'waits'], 'stopped'],
        ['decide', ['waits', 'failed'], 'waits'],
        ['decide', ['waits', 'rejected'], 'waits'],
        ['execute', ['waits', 'failed'], 'waits'],
      ];
      for (const [need, runs, chosen] of table) {
        it(`${need}: ${chosen} of ${runs.join(', ')}`, async () => {
          const ids = new Map<Kind, string>();
          for (const kind of runs) {
            const { run_id } = await store.create(sampleRequest({ number: 7 }));
            const events = kinds[kind](run_id);
            if (events.length > 0) await store.append(run_id, () => events as NewEvent[]);
            ids.set(kind, run_id);
          }
          let others: readonly string[] = [];
          const found = await store.resolve('7', {
            need,
            others: (rest) => {
              others = rest.map(({ run_id }) => run_id);
            },
          });
          expect(found).to.equal(ids.get(chosen));
          const rest = runs.filter((kind) => kind !== chosen).map((kind) => ids.get(kind)!);
          expect(others).to.have.members(rest);
        });
      }
    });

    it('finds the run of an issue by its number, the one that waits before those that have ended', async () => {
      const { run_id } = await store.create(sampleRequest({ number: 7 }));
      const later = await store.create(sampleRequest({ number: 7 }));
      await store.create(sampleRequest({ number: 8 }));
      const { owner, repo } = later.request;
      await store.append(later.run_id, () => [
        { type: 'cancel_requested', data: { by: 'm', reason: null } },
        { type: 'run_cancelled', data: { message: 'cancelled by m' } },
      ]);
      for (const name of ['7', '#7', ` ${owner}/${repo}#7`])
        expect(await store.resolve(name), name).to.equal(run_id);
      for (const name of ['9', `${owner}/other#7`])
        expect(codeOf(await failure(store.resolve(name))), name).to.equal('run_not_found');
    });

    it('lists the runs that an issue number could mean, and asks where somebody stands before', async () => {
      const first = await store.create(sampleRequest({ number: 7, repo: 'first' }));
      const second = await store.create(sampleRequest({ number: 7, repo: 'second' }));
      const { owner } = first.request;
      const unclear = await failure(store.resolve('7'));
      expect(codeOf(unclear)).to.equal('run_ambiguous');
      expect(String(unclear)).to.contain(`${first.run_id}  ${owner}/first#7  `);
      expect(String(unclear)).to.contain(`${second.run_id}  ${owner}/second#7  `);
      expect(await store.resolve('7', { here: async () => ({ owner, repo: 'first' }) })).to.equal(
        first.run_id,
      );
      expect(
        codeOf(await failure(store.resolve('7', { here: async () => ({ owner, repo: 'third' }) }))),
      ).to.equal('run_ambiguous');
      expect(await store.resolve(`${owner}/second#7`)).to.equal(second.run_id);
      const again = await store.create(sampleRequest({ number: 7, repo: 'second' }));
      expect(String(await failure(store.resolve(`${owner}/second#7`)))).to.contain(again.run_id);
    });

    it('refuses what is no run id, before it becomes a path', async () => {
      for (const id of ['', '..', '../../etc', 'run_', 'run_%', 'run_0/..', 'x'.repeat(5000)]) {
        expect(codeOf(await failure(store.resolve(id))), id).to.equal('invalid_run_id');
        expect(codeOf(await failure(store.read(id))), id).to.equal('invalid_run_id');
        expect(codeOf(await failure(store.putArtifact(id, 'x'))), id).to.equal('invalid_run_id');
      }
      const absent = 'run_0199f3c2-0000-7000-8000-000000000000';
      expect(codeOf(await failure(store.read(absent)))).to.equal('run_not_found');
      expect(codeOf(await failure(store.append(absent, () => [turn()])))).to.equal('run_not_found');
      expect(codeOf(await failure(store.putArtifact(absent, 'x')))).to.equal('run_not_found');
    });

    it('lists newest first, page by page, without a gap or a repetition', async () => {
      const made: string[] = [];
      for (let number = 1; number <= 7; number++)
        made.push((await store.create(sampleRequest({ number }))).run_id);
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const query: RunQuery = { limit: 3, ...(cursor === undefined ? {} : { cursor }) };
        const page = await under.another().list(query);
        seen.push(...page.runs.map(({ run_id }) => run_id));
        cursor = page.next_cursor ?? undefined;
      } while (cursor !== undefined);
      expect(seen).to.deep.equal(made.toReversed());
    });

    it('lists by status, repository, forge and issue', async () => {
      const { run_id } = await store.create(sampleRequest({ owner: 'other', number: 5 }));
      await store.append(run_id, () => planned(run_id));
      await store.create(sampleRequest());
      const found = async (query: Partial<RunQuery>): Promise<string[]> =>
        (await store.list({ limit: 10, ...query })).runs.map(
          (run) => `${run.owner}#${run.number} ${run.status}`,
        );
      expect(await found({ status: 'awaiting_approval' })).to.deep.equal(['other#5 awaiting_approval']);
      expect(await found({ status: 'interrupted' })).to.deep.equal(['demo#1 interrupted']);
      expect(await found({ status: 'planning' })).to.deep.equal([]);
      expect(await found({ owner: 'other', repo: 'hello', forge: 'local', number: 5 })).to.have.length(1);
      expect(await found({ forge: 'github' })).to.deep.equal([]);
      for (const limit of [0, 101, 1.5, Number.NaN]) {
        expect(codeOf(await failure(store.list({ limit })))).to.equal('invalid_limit');
      }
      expect(codeOf(await failure(store.list({ limit: 1, cursor: 'x' })))).to.equal('invalid_cursor');
    });

    it('leaves out plannings that ended before there was a plan, where that is asked for', async () => {
      const failed = await store.create(sampleRequest({ number: 1 }));
      const data = { code: 'model_failed', message: 'it did not answer', retryable: true };
      await store.append(failed.run_id, () => [{ type: 'planning_failed', data }]);
      const goesOn = await store.create(sampleRequest({ number: 2 }));
      const whole = await store.create(sampleRequest({ number: 3 }));
      await store.append(whole.run_id, () => planned(whole.run_id));
      const listed = async (query: Partial<RunQuery>) =>
        (await under.another().list({ limit: 10, ...query })).runs.map(({ run_id }) => run_id);
      expect(await listed({ without_failed_plannings: true })).to.deep.equal([whole.run_id, goesOn.run_id]);
      expect(await listed({})).to.deep.equal([whole.run_id, goesOn.run_id, failed.run_id]);
    });

    it('lists by who asked, who decided, and by name of the runs', async () => {
      const asked = await store.create(sampleRequest({ number: 51, requested_by: 'Kim' }));
      const second = await store.create(sampleRequest({ number: 52 }));
      await store.append(second.run_id, () => planned(second.run_id));
      const found = async (query: Partial<RunQuery>): Promise<(number | null)[]> =>
        (await under.another().list({ limit: 10, ...query })).runs.map(({ number }) => number);
      expect(await found({ decider: 'mira' })).to.deep.equal([]);
      await store.append(second.run_id, ({ actions }) => [decided(actions[0]!.definition)]);
      expect(await found({ asker: 'kim' })).to.deep.equal([51]);
      expect(await found({ asker: 'ki' })).to.deep.equal([]);
      expect(await found({ decider: 'MIRA' })).to.deep.equal([52]);
      expect(await found({ decider: 'kim' })).to.deep.equal([]);
      expect(await found({ among: [asked.run_id] })).to.deep.equal([51]);
      expect(await found({ among: [] })).to.deep.equal([]);
    });

    it('lists by words of the title and the name of the issue, by time, and by risk', async () => {
      const first = await store.create(sampleRequest({ repo: 'hello', number: 41 }));
      await store.append(first.run_id, () => planned(first.run_id));
      const second = await store.create(sampleRequest({ repo: 'other', number: 42 }));
      const { highest_risk } = (await store.list({ limit: 10, number: 41 })).runs[0]!;
      expect(highest_risk).to.be.oneOf([...risks]);
      const found = async (query: Partial<RunQuery>): Promise<(number | null)[]> =>
        (await under.another().list({ limit: 10, ...query })).runs.map(({ number }) => number);
      expect(await found({ text: 'OTHER' })).to.deep.equal([42]);
      expect(await found({ text: '#4' })).to.deep.equal([42, 41]);
      expect(await found({ text: 'other#41' })).to.deep.equal([]);
      const title = (await store.read(first.run_id)).issue!.title;
      expect(await found({ text: `hello#41 ${title.toUpperCase()}` })).to.deep.equal([41]);
      expect(await found({ text: '100%' })).to.deep.equal([]);
      expect(await found({ since: second.created_at })).to.include(42);
      expect(await found({ until: first.created_at })).to.deep.equal([]);
      expect(await found({ since: '2100-01-01T00:00:00.000Z' })).to.deep.equal([]);
      const level = risks.indexOf(highest_risk as Risk);
      for (const [index, risk] of risks.entries())
        expect(await found({ risk }), risk).to.deep.equal(index <= level ? [41] : []);
    });

    it('keeps an artifact once, under its sha256', async () => {
      const { run_id } = await store.create(sampleRequest());
      const digest = await store.putArtifact(run_id, 'patch');
      expect(digest).to.equal(sha256('patch'));
      expect(await store.putArtifact(run_id, Buffer.from('patch'))).to.equal(digest);
      expect(Buffer.from(await under.another().artifact(run_id, digest)).toString()).to.equal('patch');
      expect(codeOf(await failure(store.artifact(run_id, sha256('other'))))).to.equal('artifact_not_found');
      expect(codeOf(await failure(store.artifact(run_id, '../events.jsonl')))).to.equal('invalid_digest');
    });

    it('gives a lease to one at a time, and names who holds it', async () => {
      const lease = await store.lease('branch x');
      const refused = await failure(under.another().lease('branch x'));
      expect(codeOf(refused)).to.equal('lease_held');
      expect(String(refused)).to.contain('branch x').and.contain(`${process.pid}`);
      const permit = await lease.permit();
      permit.require();
      await lease.release();
      await lease.release();
      const asked = lease.permit().then((late) => late.require());
      expect(codeOf(await failure(asked))).to.equal('lease_lost');
      await (await under.another().lease('branch x')).release();
      expect(lease.lost.aborted).to.equal(false);
    });

    it('calls a run interrupted exactly while nobody works on it', async () => {
      const { run_id } = await store.create(sampleRequest());
      await store.append(run_id, () => planned(run_id));
      const lease = await store.lease(executorLease(run_id));
      await store.append(run_id, () => [executionStarted()]);
      expect((await under.another().read(run_id)).status).to.equal('executing');
      await lease.release();
      expect((await under.another().read(run_id)).status).to.equal('interrupted');
      expect((await under.another().list({ limit: 1 })).runs[0]?.status).to.equal('interrupted');
      await store.append(run_id, (run) => {
        expect(run.status).to.equal('interrupted');
        return [];
      });
    });

    it('never calls a run interrupted whose planning is about to begin', async () => {
      const { run_id, status } = await store.begin(sampleRequest());
      expect(status).to.equal('planning');
      const seen = async () => [
        (await under.another().read(run_id)).status,
        (await under.another().list({ limit: 1 })).runs[0]?.status,
      ];
      expect(await seen()).to.deep.equal(['planning', 'planning']);
      const lease = await store.lease(executorLease(run_id));
      expect(await failure(under.another().lease(executorLease(run_id)))).to.have.property(
        'code',
        'lease_held',
      );
      await store.abandon(run_id);
      expect(await seen()).to.deep.equal(['planning', 'planning']);
      await lease.release();
      expect(await seen()).to.deep.equal(['interrupted', 'interrupted']);
      const other = await store.begin(sampleRequest());
      await store.abandon(other.run_id);
      expect((await store.read(other.run_id)).status).to.equal('interrupted');
    });

    it('shows a watcher what another store appends, until the watch ends', async () => {
      const { run_id } = await store.create(sampleRequest());
      const other = under.another();
      let [looks, seen, listed] = [0, 0, 0];
      const unwatch = other.watch(run_id, async () => {
        looks++;
        seen = (await other.read(run_id)).head.seq;
      });
      const unwatchAll = other.watch(null, async () => {
        listed = (await other.list({ limit: 10 })).runs.length;
      });
      await store.append(run_id, () => planned(run_id));
      await until('the plan', async () => seen >= 7);
      const { head } = await store.append(run_id, () => [turn()]);
      await until('the next event', async () => seen === head.seq);
      await store.create(sampleRequest({ number: 2 }));
      await until('the new run', async () => listed === 2);
      unwatch();
      unwatchAll();
      const before = looks;
      await store.append(run_id, () => [turn()]);
      await until('what another watcher sees', async () => {
        const again = Promise.withResolvers<void>();
        const end = other.watch(run_id, again.resolve);
        await again.promise;
        end();
        return (await other.read(run_id)).head.seq === head.seq + 1;
      });
      expect(looks).to.equal(before);
    });

    it('forgets what a model was sent and answered, except artifacts that another event needs', async () => {
      const { run_id } = await store.create(sampleRequest());
      for (const content of ['content', 'an answer']) await store.putArtifact(run_id, content);
      await store.append(run_id, () => planned(run_id));
      await store.append(run_id, () => [turn('an answer'), turn('content'), turn('never stored')]);
      await store.writeViews(run_id);
      expect(await store.forgetPrompts(run_id)).to.deep.equal([sha256('an answer')]);
      expect(codeOf(await failure(store.artifact(run_id, sha256('an answer'))))).to.equal(
        'artifact_not_found',
      );
      expect(await store.artifact(run_id, sha256('content'))).to.deep.equal(Buffer.from('content'));
      const folder = join(await store.mirror(run_id), 'artifacts');
      expect(existsSync(join(folder, sha256('an answer')))).to.equal(false);
      expect(existsSync(join(folder, sha256('content')))).to.equal(true);
      expect(await store.forgetPrompts(run_id)).to.deep.equal([]);
    });

    it('never lets time go backwards within a run', async () => {
      const { run_id } = await store.create(sampleRequest());
      for (let count = 0; count < 5; count++) await store.append(run_id, () => [turn()]);
      const times = (await store.events(run_id)).map(({ at }) => at);
      expect(times).to.deep.equal(times.toSorted());
    });
  });
}

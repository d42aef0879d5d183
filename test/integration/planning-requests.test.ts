import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import * as t from 'io-ts';
import { IssueList } from '#kit/contracts/issues.ts';
import { Accepted, RunDetail, RunList } from '#kit/contracts/run.ts';
import { createHttpClient, type HttpClient } from '#kit/http/client.ts';
import { openServices } from '../../services/agentd/main.ts';
import { makeBareRepository } from '../fixtures/forges/bare-repository.ts';
import type { ForgeServer } from '../fixtures/forges/forge-server.ts';
import { startGiteaServer } from '../fixtures/forges/gitea-server.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';
import { startDaemon, type TestDaemon } from '../fixtures/world/daemon.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';

const body = `\`\`\`diff\n${greetPatch}\`\`\`\n`;

describe('requests for planning', () => {
  describe('on a local forge', () => {
    let world: World;
    let daemon: TestDaemon;
    let client: HttpClient;

    before(async () => {
      world = await makeWorld({ vcs: 'git' });
      daemon = await startDaemon(world);
      client = createHttpClient({ baseUrl: daemon.url, token: daemon.token, timeoutMs: 100_000 });
    });

    after(async () => {
      await client?.close();
      await daemon?.close();
      await world?.close();
    });

    const plan = (request: object, key?: string) =>
      client.post('/v1/runs', { ...ref, ...request }, Accepted, {
        headers: key === undefined ? {} : { 'idempotency-key': key },
      });

    it('make one run of a thousand that come at once with one key', async () => {
      const number = await world.newIssue(body);
      const answers = await Promise.all(
        Array.from({ length: 1_000 }, () => plan({ number }, 'event-thousand')),
      );
      expect(new Set(answers.map(({ run_id }) => run_id)).size).to.equal(1);
      expect(answers.filter(({ created }) => created === true)).to.have.lengthOf(1);
      const { runs } = await world.agent.runs({ ...ref, number, limit: 10 });
      expect(runs.map(({ run_id }) => run_id)).to.deep.equal([answers[0]!.run_id]);
      expect((await planned(client, answers[0]!.run_id)).status).to.equal('awaiting_approval');
      const again = await plan({ number }, 'event-thousand');
      expect(again).to.include({ run_id: answers[0]!.run_id, created: false, status: 'awaiting_approval' });
    });

    it('take a role by its name or key, and what led to them', async () => {
      const number = await world.newIssue('What is this about?');
      const trigger = { kind: 'schedule', event_id: 'schedule:nightly', what: 'nightly', actor: null };
      const { run_id } = await plan({ number, role: 'triage', trigger }, 'event-role');
      const { request } = await planned(client, run_id);
      expect(request).to.deep.include({ role: 'Avisour', trigger });
      expect((await plan({ number, role: 'Avisour' }, 'event-role')).run_id).to.equal(run_id);
      expect((await plan({ number, role: 'triage' }, 'event-role')).run_id).to.equal(run_id);
      expect(await failure(plan({ number, role: 'ops' }, 'event-role'))).to.equal('idempotency_key_reused');
    });

    it('say how a key came before, where it comes with another request', async () => {
      const number = await world.newIssue(body);
      const { run_id } = await plan({ number }, 'event-flags');
      await planned(client, run_id);
      for (const field of ['keep', 'anyway']) {
        const said = await plan({ number, [field]: true }, 'event-flags').catch(
          (error: Error) => error.message,
        );
        expect(said).to.contain(`came with ${field} 'false' before, now with 'true'`);
        expect((await plan({ number, [field]: false }, 'event-flags')).run_id).to.equal(run_id);
      }
    });

    it('take the place of runs that wait, unless they say keep', async () => {
      const number = await world.newIssue(body);
      const first = await planned(client, (await plan({ number })).run_id);
      const kept = await planned(client, (await plan({ number, keep: true })).run_id);
      const status = async ({ run_id }: RunDetail) => (await planned(client, run_id)).status;
      expect(await status(first)).to.equal('awaiting_approval');
      const third = await planned(client, (await plan({ number })).run_id);
      for (const earlier of [first, kept]) {
        const after = await planned(client, earlier.run_id);
        expect(after).to.include({ status: 'superseded', superseded_by: third.run_id });
      }
      const { runs } = await client.get(
        `/v1/runs?status=superseded&repository=demo/hello&number=${number}`,
        RunList,
      );
      expect(runs.map(({ run_id }) => run_id)).to.deep.equal([kept.run_id, first.run_id]);
    });

    it('take up again what was cut off before its planning began', async () => {
      const number = await world.newIssue(body);
      const { run } = await world.agent.createRun(
        { ...ref, number, idempotency_key: 'event-cut', by: everybody },
        quiet.signal,
      );
      const answer = await plan({ number }, 'event-cut');
      expect(answer).to.include({ run_id: run.run_id, created: false });
      expect((await planned(client, run.run_id)).status).to.equal('awaiting_approval');
    });

    it('list issues with their newest runs, by label and state', async () => {
      const plain = await world.newIssue(body, 'Plain');
      const { number: labelled } = await world.forgeAdmin.newIssue({
        ...ref,
        title: 'Labelled',
        body,
        author: 'mira',
        association: 'contributor',
        labels: ['plan me'],
      } as Parameters<World['forgeAdmin']['newIssue']>[0]);
      const query = `owner=${ref.owner}&repo=${ref.repo}`;
      const all = await client.get(`/v1/issues?${query}&limit=2`, IssueList);
      expect(all).to.include({ forge: 'local', ...ref });
      expect(all.issues.map(({ number, planned }) => [number, planned])).to.deep.equal([
        [labelled, null],
        [plain, null],
      ]);
      const { run_id } = await plan({ number: labelled });
      await planned(client, run_id);
      const found = await client.get(`/v1/issues?${query}&label=PLAN%20me&forge=local`, IssueList);
      expect(found.issues).to.have.lengthOf(1);
      const [issue] = found.issues;
      expect(issue).to.deep.include({ number: labelled, state: 'open', author: 'mira', labels: ['plan me'] });
      expect(issue!.planned).to.include({ run_id, status: 'awaiting_approval' });
      expect(issue!.planned!.unchanged).to.equal(true);
      await world.forgeAdmin.comment({
        ...ref,
        number: labelled,
        body: 'Is this still so?',
        author: 'mira',
        association: 'contributor',
      });
      const byUpdate = await client.get(`/v1/issues?${query}&sort=updated&limit=1`, IssueList);
      expect(byUpdate.issues[0]!.planned).to.include({ run_id, unchanged: false });
      expect(Date.parse(issue!.updated_at)).to.be.at.most(Date.parse(issue!.planned!.at) + 60_000);
      expect((await client.get(`/v1/issues?${query}&state=closed`, IssueList)).issues).to.deep.equal([]);
    });

    it('say what is wrong with a query for issues', async () => {
      const wrong = async (query: string) => {
        const error = await client.get(`/v1/issues?${query}`, t.unknown).then(
          () => null,
          (thrown: Error & { code: string }) => thrown,
        );
        return [error?.code, error?.message];
      };
      expect((await wrong('repo=hello'))[1]).to.contain('owner is missing: must be the owner');
      expect((await wrong('owner=demo&repo=hello&state=shut'))[1]).to.contain(
        'state is "shut": must be one of open, closed, all',
      );
      expect((await wrong('owner=demo&repo=hello&limit=0'))[0]).to.equal('invalid_query');
      expect((await wrong('owner=demo&repo=none'))[0]).to.equal('repository_not_found');
      expect((await wrong('owner=demo&repo=hello&forge=none'))[0]).to.equal('forge_not_found');
    });
  });

  describe('on a forge that is busy', () => {
    let server: ForgeServer;
    let daemon: TestDaemon;
    let client: HttpClient;
    let close: () => Promise<void>;

    before(async () => {
      server = await startGiteaServer();
      const home = temporaryFolder();
      mkdirSync(join(home, 'config/secrets'), { recursive: true, mode: 0o700 });
      writeFileSync(join(home, 'config/secrets/forge'), `${server.state.token}\n`, { mode: 0o600 });
      writeFileSync(join(home, 'config/core.json'), JSON.stringify({ context: { url: null }, vcs: 'git' }));
      const forge = {
        name: 'busy',
        kind: 'gitea',
        base_url: server.url,
        clone_base_url: 'file:///',
        token_file: 'forge',
      };
      writeFileSync(join(home, 'config/forges.json'), JSON.stringify({ forges: [forge] }));
      const bare = makeBareRepository(temporaryFolder());
      const served = server.state.addRepository({
        ...ref,
        bare,
        collaborators: ['mira', server.state.account],
      });
      server.state.addIssue(served, { title: 'Greet', body: 'Please.', author: 'mira' });
      const services = await openServices({ home });
      daemon = await startDaemon({ home, agent: services.agent });
      client = createHttpClient({ baseUrl: daemon.url, token: daemon.token });
      close = () => services.close();
    });

    after(async () => {
      await client?.close();
      await daemon?.close();
      await close?.();
      await server?.close();
    });

    const plan = () =>
      client.post('/v1/runs', { ...ref, number: 1 }, Accepted, {
        headers: { 'idempotency-key': 'event-busy' },
      });

    for (const [status, code] of [
      [401, 'forge_unauthorized'],
      [403, 'forge_unauthorized'],
      [429, 'forge_rate_limited'],
      [503, 'forge_unavailable'],
    ] as const) {
      it(`make no run of an issue that the forge answers with ${status}`, async () => {
        const answer = {
          status,
          headers: { ...(status === 429 ? { 'retry-after': '3600' } : {}) },
          body: {},
        };
        server.faults.push({ path: /\/issues\/1$/, times: 3, answer });
        const error = await plan().catch((thrown: Error & { code: string }) => thrown);
        expect(error).to.include({ code });
        server.faults.length = 0;
        const list = t.strict({ runs: t.array(t.strict({ run_id: t.string })) });
        expect((await client.get('/v1/runs', list)).runs).to.deep.equal([]);
      });
    }

    it('go on in the same run when they come again', async () => {
      // Asked by the planning, after the run is made.
      const answer = { status: 429, headers: { 'retry-after': '3600' } };
      server.faults.push({ path: /\/issues\/1\/comments$/, answer });
      const first = await plan().catch((error: Error & { code: string }) => error.code);
      const { runs } = await client.get(
        '/v1/runs',
        t.strict({ runs: t.array(t.strict({ run_id: t.string })) }),
      );
      expect(runs).to.have.lengthOf(1);
      const [{ run_id }] = runs as [{ run_id: string }];
      const failed = await planned(client, run_id);
      expect(failed.failure).to.include({ code: 'forge_rate_limited', retryable: true });
      if (typeof first !== 'string') expect(first.run_id).to.equal(run_id);
      else expect(first).to.equal('forge_rate_limited');
      expect(await plan()).to.include({ run_id, created: false, status: 'planning' });
      expect(await planned(client, run_id)).to.deep.include({ status: 'awaiting_approval', failure: null });
    });
  });
});

async function planned(client: HttpClient, runId: string): Promise<RunDetail> {
  return until('the end of planning', async () => {
    const run = await client.get(`/v1/runs/${runId}`, RunDetail);
    return run.status !== 'planning' && run;
  });
}

async function failure(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: Error & { code: string }) => error.code,
  );
}

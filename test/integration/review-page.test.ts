import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { replaceFile } from '#kit/durable-file.ts';
import { ForgeFolder } from '../../services/agentd/forges/local/forge-folder.ts';
import { LocalForgeAdmin } from '../../services/agentd/forges/local/local-forge-admin.ts';
import { reviewRoutes } from '../../services/agentd/review/routes.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { makeReviewWorld, type ReviewWorld } from '../fixtures/review/review-world.ts';
import { SignedIn } from '../fixtures/review/signed-in.ts';
import { tamper } from '../fixtures/runs/tamper.ts';
import { until } from '../fixtures/until.ts';
import { ref } from '../fixtures/world/world.ts';

describe('The review page over HTTP', () => {
  let review: ReviewWorld;
  let mira: SignedIn;
  let csrf: string;
  const asked = new Set<string>();

  before(async () => {
    review = await makeReviewWorld();
    mira = await SignedIn.by(await review.link('mira'));
    csrf = await mira.csrf();
  });
  after(() => review?.close());

  async function get(path: string, browser = mira): Promise<string> {
    const answer = await browser.get(path);
    noteRoute('GET', path);
    expect(answer.status, path).to.equal(200);
    expect(answer.headers.get('content-security-policy'), path).to.match(
      /^default-src 'none'; script-src 'self'; style-src 'self';/,
    );
    return answer.text();
  }

  async function post(path: string, fields: Parameters<SignedIn['post']>[1], browser = mira) {
    noteRoute('POST', path);
    const answer = await browser.post(path, { csrf, ...fields });
    return { status: answer.status, location: answer.headers.get('location'), text: await answer.text() };
  }

  function noteRoute(method: string, path: string): void {
    const bare = path.split('?')[0]!;
    asked.add(
      `${method} ${bare
        .replace(/run_[0-9a-f-]{36}/, '{run_id}')
        .replace(/logs\/[0-9a-f]{64}/, 'logs/{digest}')
        .replace(/assets\/.*/, 'assets/{name}')}`,
    );
  }

  const seen = ({ definition, approval }: Run['actions'][number]) =>
    `${definition.action_id} ${definition.digest} ${approval}`;
  const path = ({ run_id }: Run) => `/runs/${run_id}`;

  async function waitFor(run: Run, status: Run['status']): Promise<Run> {
    let now = run;
    await until(`run ${run.run_id} to be ${status}`, async () => {
      now = await review.world.agent.run(run.run_id);
      return now.status === status;
    });
    return now;
  }

  it('goes from a plan to a pull request, and takes it back', async () => {
    const { actions: before, ...planned } = await review.planned();
    const run = { ...planned, actions: before };
    const page = await get(path(run));
    for (const { definition } of run.actions) expect(page).to.contain(definition.digest);
    expect(page).to.contain('Who gives no name is greeted as a stranger.');
    const decided = await post(`${path(run)}/decisions`, {
      decision: 'approve',
      seen: run.actions.map(seen),
      word: 'approve',
    });
    expect([decided.status, decided.location]).to.deep.equal([
      303,
      `${path(run)}#${run.actions[0]!.definition.action_id}`,
    ]);
    expect(
      (await review.world.agent.run(run.run_id)).actions.every(
        ({ decision }) => decision?.approver === 'mira',
      ),
    ).to.equal(true);
    expect((await post(`${path(run)}/execute`, { checkout: 'hello' })).status).to.equal(303);
    const done = await waitFor(run, 'completed');
    const [pull] = await review.world.forgeAdmin.listPullRequests(ref, 'open');
    expect(pull?.title).to.contain('Greeting is wrong');

    const report = await get(path(run));
    const [, log] = /logs\/([0-9a-f]{64})/.exec(report) ?? [];
    await get(`${path(run)}/logs/${log}`);
    expect((await mira.get(`${path(run)}/logs/${'0'.repeat(64)}`)).status).to.equal(404);
    expect(await get(`${path(run)}/issue`)).to.contain('untrusted');
    expect(await get(`${path(run)}/timeline`)).to.contain('The record holds');
    expect(await get(`${path(run)}/graph`)).to.contain('6 open_pull_request');
    expect(await get(`${path(run)}/recovery`)).to.contain('force-with-lease');
    expect(await get(`${path(run)}/transcript`)).to.contain('No model was asked');
    expect(await get(`${path(run)}/change`)).to.contain('greet.js');
    expect(await get(`${path(done)}/undo`)).to.contain('close #');
    expect((await post(`${path(run)}/undo`, {})).status).to.equal(303);
    await waitFor(run, 'undone');
    expect(await get(path(run))).to.contain('The run was undone.');
    const again = await post(`${path(run)}/resume`, {});
    expect(again.status).to.equal(409);
    expect(again.text).to.contain('Nothing was changed');
  });

  it('has no name without a value', async () => {
    const run = await review.planned();
    const pages = [await get(path(run)), await get(`${path(run)}/recovery`)];
    const facts = pages.flatMap((page) => [...page.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/gs)]);
    const isEmpty = (value: string) => value.replaceAll(/<[^>]*>/g, '').trim() === '';
    expect(facts.map(([, name]) => name)).to.include.members(['commands', 'operations']);
    expect(facts.filter(([, , value]) => isEmpty(value!)).map(([, name]) => name)).to.deep.equal([]);
  });

  it('records nothing that was decided about something else than is there now, and shows what is', async () => {
    const run = await review.planned();
    const [first] = run.actions;
    const yuki = await SignedIn.by(await review.link('yuki'));
    const theirs = {
      csrf: await yuki.csrf(),
      decision: 'reject',
      seen: seen(first!),
      reason: 'not like this',
    };
    expect((await yuki.post(`${path(run)}/decisions`, theirs)).status).to.equal(303);
    const late = await post(`${path(run)}/decisions`, { decision: 'approve', seen: seen(first!) });
    expect(late.status).to.equal(409);
    expect(late.text)
      .to.contain('the run has changed')
      .and.to.contain('rejected by yuki')
      .and.to.contain('not like this');
    const other = seen(first!).replace(/ [0-9a-f]{64} required/, ` ${'0'.repeat(64)} rejected`);
    const changed = await post(`${path(run)}/decisions`, { decision: 'approve', seen: other });
    expect([changed.status, changed.text.includes('the run has changed')]).to.deep.equal([409, true]);
    const [now] = (await review.world.agent.run(run.run_id)).actions;
    expect([now!.approval, now!.decision?.approver]).to.deep.equal(['rejected', 'yuki']);
  });

  it('needs the word for what is critical, and a reason for a rejection', async () => {
    const run = await review.planned();
    const critical = run.actions.find(({ definition }) => definition.risk === 'critical')!;
    const without = await post(`${path(run)}/decisions`, { decision: 'approve', seen: seen(critical) });
    expect([without.status, without.text.includes('type approve to approve it')]).to.deep.equal([400, true]);
    const reasonless = await post(`${path(run)}/decisions`, {
      decision: 'reject',
      seen: seen(critical),
      reason: ' ',
    });
    expect([reasonless.status, reasonless.text.includes('a rejection needs a reason')]).to.deep.equal([
      400,
      true,
    ]);
    expect((await post(`${path(run)}/decisions`, { decision: 'approve', seen: 'x y z' })).status).to.equal(
      400,
    );
    expect(
      (await review.world.agent.run(run.run_id)).actions.every(({ decision }) => decision === null),
    ).to.equal(true);
    const cancelled = await post(`${path(run)}/cancel`, { reason: 'changed my mind' });
    expect(cancelled.status).to.equal(303);
    expect((await review.world.agent.run(run.run_id)).status).to.equal('cancelled');
    for (const address of [`${path(run)}/draft`, `${path(run)}/draft/patch`]) {
      expect((await mira.get(address)).status).to.equal(404);
      noteRoute('GET', address);
    }
  });

  it('decides about several runs in one go, and leaves alone the one that has changed', async () => {
    const [first, second] = [await review.planned(), await review.planned()];
    const look = await post('/batch/look', { run: [first.run_id, second.run_id] });
    expect(look.status).to.equal(200);
    const [, shown = ''] = look.text.split('name="gate" value="publish">');
    const pairs = [...shown.split('</form>')[0]!.matchAll(/name="seen" value="([^"]+)"/g)].map(
      ([, text]) => text!,
    );
    expect(pairs.filter((text) => text.startsWith(first.run_id))).to.have.length.greaterThan(0);
    const own = second.actions.find(({ definition }) => definition.gate === 'publish')!;
    await post(`${path(second)}/decisions`, { decision: 'reject', seen: seen(own), reason: 'not this' });
    const decided = await post('/batch', { decision: 'approve', gate: 'publish', seen: pairs });
    expect(decided.status).to.equal(409);
    expect(decided.text).to.contain('Nothing was recorded in 1 of 2 runs');
    const approvals = async ({ run_id }: Run) =>
      (await review.world.agent.run(run_id)).actions
        .filter(({ definition }) => definition.gate === 'publish')
        .map(({ approval }) => approval);
    expect(await approvals(first))
      .to.include('approved')
      .and.to.not.include('rejected');
    expect(await approvals(second))
      .to.include('rejected')
      .and.to.not.include('approved');
    expect((await post('/batch/look', {})).status).to.equal(400);
  });

  it('shows what came of the others where a run of several fails inside', async () => {
    const [good, damaged] = [await review.planned(), await review.planned()];
    const publish = ({ run_id, actions }: Run) =>
      actions
        .filter(({ definition }) => definition.gate === 'publish')
        .map((action) => `${run_id} ${seen(action)}`);
    const state = join(review.world.home, 'state');
    // The daemon reads the run again because its head differs.
    const turn = "UPDATE run_events SET line = replace(line, '{', '(') WHERE run_id = ? AND seq = 1";
    tamper(state, turn, damaged.run_id);
    tamper(state, "UPDATE runs SET hash = 'altered ' || hash WHERE run_id = ?", damaged.run_id);
    const decided = await post('/batch', {
      decision: 'approve',
      gate: 'publish',
      seen: [...publish(damaged), ...publish(good)],
    });
    tamper(state, turn.replace("'{', '('", "'(', '{'"), damaged.run_id);
    tamper(state, "UPDATE runs SET hash = replace(hash, 'altered ', '') WHERE run_id = ?", damaged.run_id);
    expect(decided.status).to.equal(409);
    expect(decided.text)
      .to.contain('Nothing was recorded in 1 of 2 runs')
      .and.to.contain('Something failed inside')
      .and.to.not.contain('cannot be read');
    const { actions } = await review.world.agent.run(good.run_id);
    expect(actions.at(-1)!.approval).to.equal('approved');
  });

  it('offers to plan again where a planning failed', async () => {
    const number = await review.world.newIssue('No patch in here.', 'Closed already');
    const folder = new ForgeFolder('local', resolve(review.world.remote.gitDir, '../../..'));
    await new LocalForgeAdmin(folder, 'core').closeIssue(ref, number, 'mira');
    const planned = await post('/plan', { repository: 'demo/hello', number: String(number) });
    const failed = await waitFor(
      await review.world.agent.run(planned.location!.slice('/runs/'.length)),
      'failed',
    );
    expect(await get(path(failed)))
      .to.contain('Planning failed.')
      .and.to.contain('Plan again…');
    const again = await post(`${path(failed)}/plan`, { note: '' });
    expect(again.status).to.equal(303);
    expect(again.location).to.not.equal(path(failed));
  });

  it('plans the issue of a run again, with a note that the record keeps', async () => {
    const run = await review.planned();
    const again = await post(`${path(run)}/plan`, { note: 'Mind the empty name.' });
    expect(again.status).to.equal(303);
    const { request } = await review.world.agent.run(again.location!.slice('/runs/'.length));
    expect(request.number).to.equal(run.request.number);
    expect(request.note).to.not.equal(undefined);
  });

  it('lists the open issues of a repository, and plans one of them', async () => {
    const number = await review.world.newIssue('It should greet strangers.', 'Greet <b>strangers</b>');
    const planned = await review.planned('Another.', 'Planned already');
    const chosen = await post('/plan', { repository: ' demo/hello ', list: 'yes' });
    expect([chosen.status, chosen.location]).to.deep.equal([303, '/plan?repository=demo%2Fhello']);
    const list = await get(chosen.location!);
    expect(list).to.contain('Greet &lt;b&gt;strangers&lt;/b&gt;').and.to.not.contain('<b>strangers');
    expect(list).to.match(new RegExp(`<button name="number" value="${number}">Plan<span`));
    expect(list).to.match(
      new RegExp(`<button name="number" value="${planned.request.number}">Plan again<span`),
    );
    expect(list).to.contain(`href="/runs/${planned.run_id}"`);
    // The repository of the working copy is offered before anything is typed.
    expect(await get('/plan')).to.contain('href="/plan?repository=demo%2Fhello"');
    const begun = await post('/plan', { repository: 'demo/hello', number: String(number) });
    expect(begun.status).to.equal(303);
    expect(await get('/plan?repository=demo/nothing')).to.contain('no forge knows demo/nothing');
    expect(await get('/plan?repository=nonsense')).to.contain('must be owner/repo');
  });

  it('offers to deliver to working copies of the repository of the run alone', async () => {
    const run = await review.planned();
    const decided = run.actions.filter(({ definition }) => definition.gate === 'build').map(seen);
    await post(`${path(run)}/decisions`, { decision: 'approve', seen: decided, word: 'approve' });
    expect(await get(path(run)))
      .to.contain('<option selected>hello</option>')
      .and.to.not.contain('scratch');
  });

  it('keeps what was typed where a plan is refused, and the header on every page of an error', async () => {
    const refused = await post('/plan', { repository: 'demo/nothing', number: '7', task: '' });
    expect(refused.status).to.equal(404);
    expect(refused.text)
      .to.contain('value="demo/nothing"')
      .and.to.contain('value="7"')
      .and.to.contain('no forge knows demo/nothing')
      .and.to.contain('Sign out');
    const neither = await post('/plan', { repository: 'demo/hello', number: '', task: '' });
    expect(neither.status).to.equal(400);
    expect(neither.text).to.contain('Open issues of demo/hello');
    const before = (await review.world.agent.runs({ limit: 1 })).runs[0]?.run_id;
    const unknown = await post('/plan', { repository: 'demo/hello', number: '987654', task: '' });
    expect(unknown.status).to.equal(404);
    expect(unknown.text)
      .to.contain('has no issue demo/hello#987654')
      .and.to.contain('Open issues of demo/hello')
      .and.to.contain('value="987654"');
    expect((await review.world.agent.runs({ limit: 1 })).runs[0]?.run_id).to.equal(before);
    const missing = await mira.get('/runs/run_00000000');
    expect([missing.status, await missing.text()].join(' '))
      .to.match(/^404/)
      .and.to.contain('Sign out');
    const none = await post('/batch/look', {});
    expect(none.status).to.equal(400);
    expect(none.text).to.contain('0 runs are selected').and.to.contain('Decide about the selected runs');
  });

  it('plans an issue or a task, and lists and finds the runs', async () => {
    expect(await get('/plan')).to.contain('Number of the issue');
    for (const fields of [
      { repository: 'hello', number: '1' },
      { repository: 'demo/hello' },
      { repository: 'demo/hello', number: 'x' },
    ])
      expect((await post('/plan', fields)).status, JSON.stringify(fields)).to.equal(400);
    const number = await review.world.newIssue('```diff\nnone\n```', 'Find me by my title');
    const planned = await post('/plan', { repository: 'demo/hello', number: `#${number}` });
    expect([planned.status, planned.location]).to.satisfy(
      ([status, location]: [number, string]) => status === 303 && location.startsWith('/runs/run_'),
    );
    const runId = planned.location!.slice('/runs/'.length);
    await until(
      'the planning to end',
      async () => (await review.world.agent.run(runId)).status !== 'planning',
    );
    expect(await get('/')).to.contain('Find me by my title');
    const found = await get('/?text=find+title&status=&repository=demo%2Fhello&risk=');
    expect(found).to.contain(runId);
    expect(found.match(/data-run/g)).to.have.length(1);
    expect(await get('/?text=nothing+like+it')).to.contain('No run is like that');
    expect((await mira.get('/?repository=hello')).status).to.equal(400);
  });

  it('shows nothing to who is not signed in, or may not read', async () => {
    const run = await review.planned();
    for (const address of ['/', path(run), `${path(run)}/change`, `${path(run)}/live`, '/plan', '/live']) {
      for (const cookie of ['', 'core_review_0=', `core_review_0=${'A'.repeat(43)}`]) {
        const answer = await fetch(review.url + address, { headers: { cookie } });
        expect(answer.status, address).to.equal(401);
        expect(await answer.text())
          .to.contain('./core review')
          .and.to.contain('docker compose run --rm tools core-agentd review --address')
          .and.to.not.contain('demo/hello');
      }
    }
    const token = { authorization: 'Bearer core_mira_x' };
    expect((await fetch(`${review.url}/`, { headers: token })).status).to.equal(401);
    const planner = await SignedIn.by(await review.link('planner', { scopes: ['read'] }));
    const page = await get(path(run), planner);
    expect(page).to.contain('Deciding needs the scope approve').and.to.not.contain('data-approve');
    const fields = { csrf: await planner.csrf(), decision: 'approve', seen: seen(run.actions[0]!) };
    for (const [verb, more] of Object.entries({
      decisions: fields,
      execute: {},
      undo: {},
      cancel: {},
      resume: {},
    }))
      expect(
        (await planner.post(`${path(run)}/${verb}`, { csrf: fields.csrf, ...more })).status,
        verb,
      ).to.equal(403);
  });

  it('takes no form of another session, another site or another kind', async () => {
    const run = await review.planned();
    const yuki = await SignedIn.by(await review.link('yuki'));
    const fields = { decision: 'approve', seen: seen(run.actions[0]!) };
    const address = `${path(run)}/decisions`;
    const wrong = [
      await mira.post(address, { ...fields, csrf: await yuki.csrf() }),
      await mira.post(address, { ...fields, csrf: '' }),
      await mira.post(address, { ...fields, csrf }, { origin: 'https://evil.test' }),
      await mira.post(address, { ...fields, csrf }, { origin: 'null' }),
    ];
    expect(wrong.map(({ status }) => status)).to.deep.equal([403, 403, 403, 403]);
    expect((await mira.post(address, fields)).status).to.equal(400);
    expect((await mira.post(address, { ...fields, csrf, more: 'x' })).status).to.equal(400);
    const json = { 'content-type': 'application/json' };
    expect((await mira.post(address, { ...fields, csrf }, json)).status).to.equal(415);
    expect((await review.world.agent.run(run.run_id)).actions[0]!.decision).to.equal(null);
    expect(await statusWithHost('evil.test')).to.equal(403);
  });

  /** fetch sets the header itself. */
  function statusWithHost(host: string): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const sent = request(`${review.url}/`, { headers: { host, cookie: mira.cookie } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      sent.on('error', reject).end();
    });
  }

  it('signs in by a link once, with a cookie that scripts and other sites do not get', async () => {
    const link = await review.link('mira');
    const { pathname, search, searchParams } = new URL(link);
    const opened = await fetch(link);
    noteRoute('GET', pathname);
    const text = await opened.text();
    expect(text).to.contain('Sign in as mira');
    expect(opened.headers.get('referrer-policy')).to.equal('same-origin');
    const code = searchParams.get('code')!;
    const elsewhere = await fetch(review.url + pathname + search);
    expect([elsewhere.status, (await elsewhere.text()).includes('opened in another browser')]).to.deep.equal([
      401,
      true,
    ]);
    const form = {
      method: 'POST',
      body: new URLSearchParams({ code, run: '//evil.test' }),
      redirect: 'manual',
    } as const;
    noteRoute('POST', '/sign-in');
    expect((await fetch(`${review.url}/sign-in`, form)).status).to.equal(401);
    const [cookie] = opened.headers.getSetCookie();
    const headers = { cookie: cookie!.split(';')[0]! };
    const signedIn = await fetch(`${review.url}/sign-in`, { ...form, headers });
    expect([signedIn.status, signedIn.headers.get('location')]).to.deep.equal([303, '/']);
    expect(signedIn.headers.getSetCookie()[0]).to.match(
      /^core_review_0=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    expect((await fetch(`${review.url}/sign-in`, { ...form, headers })).status).to.equal(401);
  });

  it('ends the session that the browser had when it signs in again', async () => {
    const lena = await SignedIn.by(await review.link('lena'));
    const before = lena.cookie;
    const { pathname, search, searchParams } = new URL(await review.link('lena'));
    await lena.get(pathname + search);
    const again = await lena.post('/sign-in', { code: searchParams.get('code')! });
    expect(again.status).to.equal(303);
    expect((await lena.get('/')).status).to.equal(200);
    expect((await fetch(`${review.url}/`, { headers: { cookie: before } })).status).to.equal(401);
  });

  it('signs out, and ends what is open when the token is revoked', async () => {
    const noor = await SignedIn.by(await review.link('noor'));
    noteRoute('POST', '/sign-out');
    const kept = noor.cookie;
    const out = await noor.post('/sign-out', { csrf: await noor.csrf() });
    expect([out.status, out.headers.get('location')]).to.deep.equal([303, '/signed-out']);
    expect(await get('/signed-out', noor)).to.contain('Signed out');
    expect((await fetch(`${review.url}/`, { headers: { cookie: kept } })).status).to.equal(401);

    const again = await SignedIn.by(await review.link('noor'));
    const run = await review.planned();
    const streams = await Promise.all(['/live', `${path(run)}/live`].map((address) => again.get(address)));
    for (const address of ['/live', `${path(run)}/live`]) noteRoute('GET', address);
    review.revoke('noor');
    // Each ends by itself.
    await Promise.all(streams.map((stream) => stream.text()));
    expect((await again.get('/')).status).to.equal(401);
  });

  it('ends what is open when the token may not read any more', async () => {
    const paul = await SignedIn.by(await review.link('paul'));
    const stream = await paul.get('/live');
    const registry = join(review.world.home, 'config/tokens/registry.json');
    const records = JSON.parse(readFileSync(registry, 'utf8'));
    records.tokens.find(({ name }: { name: string }) => name === 'paul').scopes = ['plan'];
    replaceFile(registry, JSON.stringify(records));
    await stream.text();
    expect((await paul.get('/')).status).to.equal(403);
  });

  it('knows no identity provider where none is configured', async () => {
    for (const path of ['/sign-in/provider', '/sign-in/callback?state=x&code=y']) {
      const answer = await mira.get(path);
      noteRoute('GET', path);
      expect([answer.status, (await answer.text()).includes('identity_provider_missing')]).to.deep.equal([
        404,
        true,
      ]);
    }
    expect(await (await fetch(`${review.url}/`)).text()).to.not.contain('Sign in with');
  });

  it('sends parts of the change of a run, and none of another patch', async () => {
    const run = await review.planned();
    const part = (name: string, query: string) =>
      `${path(run)}/change/${name}?digest=${run.plan!.patch}&${query}`;
    expect(await get(`${path(run)}?view=split`)).to.contain('row both');
    expect(await get(part('rows', 'view=unified&from=5&end=7'), mira)).to.match(/^<div role="row"/);
    expect(await get(part('row', 'view=split&line=6'), mira)).to.equal('6');
    expect(await get(part('line', 'line=6'), mira)).to.contain('greeted as a stranger');
    expect(await get(part('find', 'view=unified&text=STRANGER'), mira)).to.match(/^\d+( \d+)*$/);
    expect(await get(part('find', 'view=unified&text=nothing-has-this'), mira)).to.equal('');
    const base = await get(part('base', 'view=unified&file=1&from=1&end=4'), mira);
    expect(base.replaceAll(/<[^>]*>/g, '')).to.contain('export function greet(name)');
    const refused = [
      part('base', 'file=0&from=1'),
      part('base', 'file=9&from=1'),
      `${path(run)}?view=sideways`,
      part('rows', 'view=unified&from=0&end=5000'),
      part('rows', 'view=unified&from=-1&end=2'),
      part('line', 'line=x'),
      `${path(run)}/change/line?line=0&digest=${'0'.repeat(64)}`,
    ];
    for (const address of refused) expect((await mira.get(address)).status, address).to.equal(400);
  });

  it('has an inbox for who is signed in, and counts it', async () => {
    const run = await review.planned();
    const page = await get('/inbox');
    expect(page).to.contain(`href="/runs/${run.run_id}"`).and.to.contain('waits for approval');
    expect(Number(await get('/inbox/count'))).to.equal(page.match(/class="run" href/g)!.length);
    expect(await get('/inbox?all=true')).to.contain('Only what waits for you');
  });

  it('says live that a run has changed', async () => {
    const run = await review.planned();
    const stream = await mira.get(`${path(run)}/live?after=${run.head.seq}`);
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    let said = '';
    await review.world.agent.cancel({
      run_id: run.run_id,
      by: { name: 'mira', scopes: ['plan'] },
      reason: null,
    });
    while (!said.includes('event: changed')) said += (await reader.read()).value ?? 'event: changed, the end';
    await reader.cancel();
    expect(said).to.contain('"seq":').and.to.not.contain('the end');
  });

  it('serves its files with a hash of their content, and again only when they changed', async () => {
    const page = await get('/');
    const assets = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, address]) =>
      address!.replaceAll('&amp;', '&'),
    );
    expect(assets).to.have.length(6);
    for (const address of assets) {
      const answer = await mira.get(address);
      noteRoute('GET', address);
      const etag = answer.headers.get('etag')!;
      expect(answer.headers.get('cache-control')).to.contain('immutable');
      expect((await answer.text()).length).to.be.greaterThan(100);
      expect((await mira.get(address, { 'if-none-match': etag })).status).to.equal(304);
    }
    const imported = await mira.get('/assets/diff-chunks.js');
    expect(imported.headers.get('cache-control')).to.equal('no-cache');
    expect((await mira.get('/assets/..%2fsession.ts')).status).to.equal(404);
    expect(page).to.not.match(/ on[a-z]+=|<style|javascript:|https?:\/\//);
  });

  it('has asked every route of the page here', () => {
    const described = reviewRoutes({} as never).map(({ method, path }) => `${method} ${path}`);
    expect([...asked].sort()).to.deep.equal([...new Set(described)].sort());
  });
});

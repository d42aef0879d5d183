import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect } from 'chai';
import { environment } from '#kit/environment.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { makeReviewWorld, type ReviewWorld } from '../fixtures/review/review-world.ts';
import { SignedIn } from '../fixtures/review/signed-in.ts';
import { until } from '../fixtures/until.ts';

describe('core review', () => {
  let review: ReviewWorld;
  before(async () => {
    review = await makeReviewWorld();
  });
  after(() => review?.close());

  const typed = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    review.world.command(['review', ...args], { CORE_AGENTD_URL: review.url, ...env });

  it('prints a link that signs in as the person, to the page of a run', async () => {
    const run = await review.planned();
    const { code, stdout, stderr } = await typed(['1', '--no-open']);
    expect(code, stderr).to.equal(0);
    expect(stdout).to.contain('once; it expires in 5 min');
    const [link = ''] = /http:\S+/.exec(stdout) ?? [];
    expect(link).to.contain(`run=${run.run_id}`);
    const browser = await SignedIn.by(link);
    expect((await browser.get(`/runs/${run.run_id}`)).status).to.equal(200);
    const { stdout: json } = await typed(['--json', '--address', 'https://core.test/']);
    expect(JSON.parse(json)).to.include({ opened: false });
    expect(JSON.parse(json).url).to.match(/^https:\/\/core\.test\/sign-in\?code=/);

    const out = await typed(['--sign-out-all']);
    expect(out.stdout).to.equal('Signed out 1 browser.\n');
    expect((await browser.get('/')).status).to.equal(401);
  });

  it('lists who is signed in, and signs out one browser or all of somebody', async () => {
    const session = (...args: readonly string[]) =>
      review.world.command(['session', ...args], { CORE_AGENTD_URL: review.url });
    expect((await session('list')).stdout).to.contain('Nobody is signed in');
    const browsers: SignedIn[] = [];
    for (const name of ['yuki', 'noor', 'noor', 'noor'])
      browsers.push(await SignedIn.by(await review.link(name)));
    const { sessions } = JSON.parse((await session('list', '--json')).stdout);
    expect(sessions.map(({ name, by }: { name: string; by: string }) => [name, by])).to.deep.equal([
      ['yuki', 'link'],
      ['noor', 'link'],
      ['noor', 'link'],
      ['noor', 'link'],
    ]);
    const list = await session('list');
    expect(list.stdout, list.stderr).to.contain(`${sessions[0].id}  yuki`).and.to.contain('in 12 h');
    const one = await session('revoke', sessions[0].id, sessions[1].id);
    expect(one.stdout, one.stderr).to.equal('Signed out 2 browsers.\n');
    const statuses = () => Promise.all(browsers.map(async (browser) => (await browser.get('/')).status));
    expect(await statuses()).to.deep.equal([401, 401, 200, 200]);
    expect((await session('revoke', '--of', 'noor')).stdout).to.equal('Signed out 2 browsers.\n');
    expect(await statuses()).to.deep.equal([401, 401, 401, 401]);
    const again = await session('revoke', sessions[0].id);
    expect([again.code, again.stderr.includes('session_not_found')]).to.deep.equal([4, true]);
    for (const args of [[], ['x', '--of', 'noor']])
      expect((await session('revoke', ...args)).code, args.join(' ')).to.equal(2);
  });

  it('hands the link to the desktop, and says it where there is none', async () => {
    const folder = temporaryFolder();
    for (const name of ['xdg-open', 'open'])
      writeFileSync(join(folder, name), `#!/bin/sh\nprintf %s "$1" > "${folder}/url"\n`, { mode: 0o755 });
    const { stdout, stderr } = await typed([], { PATH: [folder, environment.PATH].join(delimiter) });
    expect(stdout, stderr).to.contain('Opening the review page in your browser');
    let handed = '';
    await until('the desktop to have the link', () => {
      handed = readFileSync(join(folder, 'url'), 'utf8');
      return handed !== '';
    });
    expect(stdout).to.contain(handed);
    for (const name of ['xdg-open', 'open']) writeFileSync(join(folder, name), '#!/bin/sh\nexit 3\n');
    const without = await typed([], { PATH: [folder, environment.PATH].join(delimiter) });
    expect([without.code, without.stdout.startsWith('Open in your browser')]).to.deep.equal([0, true]);
  });

  it('says how to start the daemon where none answers, and what an address is', async () => {
    const silent = await typed(['--no-open'], { CORE_AGENTD_URL: 'http://127.0.0.1:9' });
    expect(silent.code).to.equal(5);
    expect(silent.stderr).to.contain('core-agentd does not answer').and.to.contain(' up');
    const wrong = await typed(['--address', 'here']);
    expect([wrong.code, wrong.stderr.includes("--address 'here'")]).to.deep.equal([2, true]);
    expect((await typed(['run_00000000', '--no-open'])).code).to.equal(4);
  });
});

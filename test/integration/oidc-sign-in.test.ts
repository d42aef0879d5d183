import { expect } from 'chai';
import { identityKey } from '#kit/identity-name.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import type { HttpBrowser } from '../fixtures/oidc/http-browser.ts';
import { makeOidcWorld, type OidcWorld } from '../fixtures/oidc/oidc-world.ts';
import { SignedIn } from '../fixtures/review/signed-in.ts';
import { everybody, quiet } from '../fixtures/world/world.ts';

describe('Signing in by an identity provider', () => {
  let world: OidcWorld;
  before(async () => {
    world = await makeOidcWorld();
  });
  after(() => world?.close());

  beforeEach(() => {
    world.provider.accounts.clear();
    const mira = { email: 'mira@example.org', groups: ['reviewers', 'football'] };
    world.provider.accounts.set('mira', mira).set('kim', { name: 'Kim K.', groups: ['reviewers'] });
    world.configure({});
  });

  async function signedIn(login: string): Promise<HttpBrowser> {
    const browser = world.browser();
    const answer = await browser.signIn(login);
    expect(answer.status, await answer.text()).to.equal(200);
    return browser;
  }

  const firstSeen = ({ actions: [first] }: Run) =>
    `${first!.definition.action_id} ${first!.definition.digest} ${first!.approval}`;

  async function approve(browser: HttpBrowser, run: Run) {
    const now = await world.review.world.agent.run(run.run_id);
    const fields = { csrf: await browser.csrf(), decision: 'approve', seen: firstSeen(now) };
    const answer = await browser.post(`/runs/${run.run_id}/decisions`, fields);
    return { status: answer.status, text: await answer.text() };
  }

  const status = async (browser: HttpBrowser) => (await browser.get('/')).status;

  it('offers the provider where nobody is signed in, and comes back to the run', async () => {
    const run = await world.review.planned();
    const browser = world.browser();
    const offer = await browser.get(`/runs/${run.run_id}`);
    expect(offer.status).to.equal(401);
    expect(await offer.text())
      .to.contain('Sign in with Example ID')
      .and.to.contain(`href="/sign-in/provider?run=${run.run_id}"`)
      .and.to.contain('./core review');
    const arrived = await browser.signIn('mira', run.run_id);
    expect(await arrived.text()).to.contain(`content="0; url=/runs/${run.run_id}"`);
    const page = await (await browser.get(`/runs/${run.run_id}`)).text();
    expect(page).to.contain('>mira@example.org</span>').and.to.contain('data-approve');
  });

  it('asks with PKCE, state and nonce, each new, and with the configured redirect URI', async () => {
    const asked = await Promise.all(
      [1, 2].map(async () => {
        const answer = await world.browser().get('/sign-in/provider');
        expect(answer.headers.getSetCookie()[0]).to.match(
          /^core_review_provider_\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/,
        );
        return new URL(answer.headers.get('location')!);
      }),
    );
    const [first, second] = asked.map(({ searchParams }) => Object.fromEntries(searchParams));
    expect(asked[0]!.origin).to.equal(world.provider.issuer);
    expect(first).to.include({
      response_type: 'code',
      client_id: 'core',
      redirect_uri: `${world.review.url}/sign-in/callback`,
      code_challenge_method: 'S256',
    });
    for (const name of ['state', 'nonce', 'code_challenge'])
      expect(first![name], name)
        .to.match(/^[\w-]{43}$/)
        .and.to.not.equal(second![name]);
  });

  it('records who approved: the name, and the account that it is of', async () => {
    const run = await world.review.planned();
    const mira = await signedIn('mira');
    expect((await approve(mira, run)).status).to.equal(303);
    const { decision } = (await world.review.world.agent.run(run.run_id)).actions[0]!;
    expect(decision?.approver).to.match(/^mira@example\.org#[0-9a-f]{16}$/);
    expect(decision?.account).to.deep.equal({ issuer: world.provider.issuer, subject: 'sub-mira' });
    expect(await (await mira.get(`/runs/${run.run_id}`)).text()).to.contain(decision!.approver);
  });

  it('counts two accounts as two people, two sessions of one as one, and an account as the person of a token', async () => {
    const { provider, review } = world;
    const rule = { name: 'two', approvers: 2 };
    const accounts = (name: string) => ({ accounts: [{ issuer: provider.issuer, subject: `sub-${name}` }] });
    review.policy({ approval: { rules: [rule] }, people: { mira: accounts('mira'), kim: accounts('kim') } });
    const run = await review.planned();
    provider.accounts.set('lee', { email: 'lee@example.org', groups: ['reviewers'] });
    const unknown = await approve(await signedIn('lee'), run);
    expect([unknown.status, unknown.text.includes('&quot;subject&quot;:&quot;sub-lee&quot;')]).to.deep.equal([
      422,
      true,
    ]);
    const waits = async (browser: HttpBrowser) =>
      (await (await browser.get('/inbox')).text()).includes(run.run_id);
    const kim = await signedIn('kim');
    expect(await waits(kim)).to.equal(true);
    expect((await approve(await signedIn('mira'), run)).status).to.equal(303);
    // The same account under another name, in another browser.
    provider.accounts.set('mira', { email: 'mira.new@example.org', groups: ['reviewers'] });
    const again = await approve(await signedIn('mira'), run);
    expect([again.status, again.text.includes('mira has approved it already')]).to.deep.equal([409, true]);
    const token = await SignedIn.by(await review.link('mira'));
    const fields = { csrf: await token.csrf(), decision: 'approve', seen: firstSeen(run) };
    const byToken = await token.post(`/runs/${run.run_id}/decisions`, fields);
    expect([byToken.status, (await byToken.text()).includes('mira has approved it already')]).to.deep.equal([
      409,
      true,
    ]);
    expect((await approve(kim, run)).status).to.equal(303);
    const [first] = (await review.world.agent.run(run.run_id)).actions;
    expect(first!.approval).to.equal('approved');
    expect(first!.decisions.map(({ approver }) => identityKey(approver)[0])).to.deep.equal(['#', '#']);
    review.policy({ approval: { rules: [] }, people: {} });
  });

  it('counts no approval of an account that was revoked, and ends its sessions at once', async () => {
    const { provider, review } = world;
    const run = await review.planned();
    const mira = await signedIn('mira');
    expect((await approve(mira, run)).status).to.equal(303);
    const account = { issuer: provider.issuer, subject: 'sub-mira' };
    review.policy({ approval: { revoked_accounts: [account] } });
    expect(await status(mira)).to.equal(401);
    const refused = await world.browser().signIn('mira');
    expect([refused.status, (await refused.text()).includes('account_revoked')]).to.deep.equal([403, true]);
    const request = { run_id: run.run_id, repo_dir: null, actions: null, dry_run: false, by: everybody };
    const { actions } = await review.world.agent.execute(request, quiet);
    expect(actions[0]!.outcome?.code).to.equal('approver_revoked');
    expect(actions[0]!.outcome?.message).to.contain('the account sub-mira of');
    review.policy({});
    expect(await status(mira)).to.equal(200);
  });

  it('gives the scopes of the groups, and no others', async () => {
    const run = await world.review.planned();
    world.provider.accounts.set('mira', { email: 'mira@example.org', groups: 'readers' });
    const mira = await signedIn('mira');
    const page = await (await mira.get(`/runs/${run.run_id}`)).text();
    expect(page).to.not.contain('data-approve');
    expect((await approve(mira, run)).status).to.equal(403);
    expect((await mira.post(`/runs/${run.run_id}/execute`, { csrf: await mira.csrf() })).status).to.equal(
      403,
    );
  });

  it('says which groups it saw and which would do, and signs nobody in without one', async () => {
    world.provider.accounts.set('mira', { email: 'mira@example.org', groups: ['football', '<b>chess</b>'] });
    const browser = world.browser();
    const answer = await browser.signIn('mira');
    const text = await answer.text();
    expect(answer.status).to.equal(403);
    for (const group of ['football', '&lt;b&gt;chess&lt;/b&gt;', 'reviewers', 'readers', 'leads'])
      expect(text).to.contain(`<li><code>${group}</code></li>`);
    expect(await status(browser)).to.equal(401);
    world.provider.accounts.set('mira', { email: 'mira@example.org' });
    expect(await (await world.browser().signIn('mira')).text()).to.contain('<p>none</p>');
  });

  it('follows oidc.json at once: a group that is taken out, and a provider that is', async () => {
    const run = await world.review.planned();
    const mira = await signedIn('mira');
    const approver = await (await mira.get(`/runs/${run.run_id}`)).text();
    expect(approver).to.contain('data-approve');
    world.configure({ groups: { football: ['read'], reviewers: ['read'] } });
    expect(await (await mira.get(`/runs/${run.run_id}`)).text()).to.not.contain('data-approve');
    world.configure({ groups: { football: ['read'] } });
    // It was no group of Core when she signed in.
    expect(await status(mira)).to.equal(401);
    world.configure({});
    expect(await status(mira)).to.equal(200);
    world.configure(null);
    expect(await status(mira)).to.equal(401);
    expect((await mira.get('/sign-in/provider')).status).to.equal(404);
    expect(await (await mira.get('/')).text()).to.not.contain('Sign in with');
  });

  it('works as a public client, and with claims at the userinfo endpoint', async () => {
    world.configure({ client_id: 'core-public', client_secret_file: null });
    expect(await status(await signedIn('mira'))).to.equal(200);
    const other = await makeOidcWorld({ claimsAtUserinfo: true });
    try {
      other.provider.accounts.set('mira', { email: 'mira@example.org', groups: ['readers'] });
      const browser = other.browser();
      expect((await browser.signIn('mira')).status).to.equal(200);
      expect(await (await browser.get('/')).text()).to.contain('>mira@example.org</span>');
    } finally {
      await other.close();
    }
  });

  it('says what the provider has against the client, and takes a new secret without a restart', async () => {
    world.writeSecret('another-secret');
    const refused = await world.browser().signIn('mira');
    expect([refused.status, (await refused.text()).includes('client_secret_file')]).to.deep.equal([
      422,
      true,
    ]);
    const { clientSecret } = await import('../fixtures/oidc/real-provider.ts');
    world.writeSecret(`${clientSecret}\n`);
    expect(await status(await signedIn('mira'))).to.equal(200);
  });

  it('takes a key that the provider signs with since a moment ago', async () => {
    await signedIn('mira');
    world.provider.rotate();
    await signedIn('mira');
    world.provider.rotate();
    await signedIn('mira');
  });

  it('wants the issuer letter by letter, as it is part of who an account is', async () => {
    world.configure({ issuer: `${world.provider.issuer}/` });
    const answers = await Promise.all([1, 2, 3].map(() => world.browser().get('/sign-in/provider')));
    for (const answer of answers) {
      expect(answer.status).to.equal(503);
      expect(await answer.text()).to.contain(
        `it names itself ${world.provider.issuer}, and issuer of oidc.json`,
      );
    }
  });

  it('says that the provider does not answer, signs in by links all the same, and goes on when it answers', async () => {
    const other = await makeOidcWorld();
    try {
      const browser = other.browser();
      await other.provider.stop();
      const refused = await browser.get('/sign-in/provider');
      expect(refused.status).to.equal(503);
      expect(await refused.text())
        .to.contain('Example ID does not answer')
        .and.to.contain('./core review');
      expect(await (await browser.get('/')).text()).to.contain('Example ID does not answer');
      const byLink = await SignedIn.by(await other.review.link('mira'));
      expect((await byLink.get('/')).status).to.equal(200);
      await other.provider.start();
      other.provider.accounts.set('mira', { groups: ['readers'] });
      expect((await browser.signIn('mira')).status).to.equal(200);
      expect(await (await other.browser().get('/')).text()).to.not.contain('does not answer');
    } finally {
      await other.close();
    }
  });
});

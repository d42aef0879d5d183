import { expect } from 'chai';
import { EndedSessions, ReviewSessions } from '#kit/contracts/review.ts';
import { createHttpClient } from '#kit/http/client.ts';
import { createToken } from '#kit/tokens/tokens.ts';
import type { HttpBrowser } from '../fixtures/oidc/http-browser.ts';
import { makeOidcWorld, type OidcWorld } from '../fixtures/oidc/oidc-world.ts';
import { SignedIn } from '../fixtures/review/signed-in.ts';

describe('Sessions that an identity provider began', () => {
  let world: OidcWorld;
  before(async () => {
    world = await makeOidcWorld();
    const mira = { email: 'mira@example.org', groups: ['reviewers', 'football'] };
    world.provider.accounts.set('mira', mira).set('kim', { name: 'Kim K.', groups: ['reviewers'] });
  });
  after(() => world?.close());

  async function signedIn(login: string): Promise<HttpBrowser> {
    const browser = world.browser();
    const answer = await browser.signIn(login);
    expect(answer.status, await answer.text()).to.equal(200);
    return browser;
  }

  const status = async (browser: HttpBrowser) => (await browser.get('/')).status;

  it('signs out, and leads to the sign-out of the provider', async () => {
    const mira = await signedIn('mira');
    const kept = new Map(mira.cookies);
    const out = await mira.post('/sign-out', { csrf: await mira.csrf() });
    expect(out.headers.get('location')).to.equal('/signed-out?of=provider');
    const page = await (await mira.get('/signed-out?of=provider')).text();
    const [, address = ''] = /href="([^"]+)" rel="noreferrer"/.exec(page) ?? [];
    const there = new URL(address.replaceAll('&amp;', '&'));
    expect(there.origin).to.equal(world.provider.issuer);
    expect(Object.fromEntries(there.searchParams)).to.deep.equal({
      client_id: 'core',
      post_logout_redirect_uri: `${world.review.url}/signed-out`,
    });
    expect((await mira.get(there.href)).status).to.equal(200);
    for (const [name, value] of kept) mira.cookies.set(name, value);
    expect(await status(mira)).to.equal(401);
    const byLink = await SignedIn.by(await world.review.link('noor'));
    const outOfLink = await byLink.post('/sign-out', { csrf: await byLink.csrf() });
    expect(outOfLink.headers.get('location')).to.equal('/signed-out');
  });

  it('ends the session that the browser had when it signs in again, though it does not send it back from the provider', async () => {
    const mira = await signedIn('mira');
    const [[name, text]] = [...mira.cookies].filter(([name]) => /^core_review_\d+$/.test(name)) as [
      [string, string],
    ];
    const callback = await mira.toCallback('mira');
    mira.cookies.delete(name);
    const back = await mira.get(callback);
    expect(back.status).to.equal(200);
    expect(back.headers.getSetCookie().join()).to.match(/SameSite=Strict; Max-Age=3600/);
    expect(await status(mira)).to.equal(200);
    mira.cookies.set(name, text);
    expect(await status(mira)).to.equal(401);
  });

  it('lists and ends sessions, with what is open live in them', async () => {
    const { review } = world;
    const folders = { tokens: `${review.world.home}/config/tokens` };
    const admin = createHttpClient({
      baseUrl: review.url,
      token: createToken(folders, { name: 'chief', scopes: ['read', 'admin'] }).text,
    });
    const reader = createHttpClient({
      baseUrl: review.url,
      token: createToken(folders, { name: 'reader', scopes: ['read'] }).text,
    });
    try {
      await admin.delete('/v1/review/sessions?of=mira', EndedSessions);
      const [mira, again, kim] = [await signedIn('mira'), await signedIn('mira'), await signedIn('kim')];
      const { sessions } = await admin.get('/v1/review/sessions', ReviewSessions);
      const theirs = sessions.filter(({ account }) => account?.subject === 'sub-mira');
      const newest = theirs.slice(-2);
      for (const one of newest) {
        expect(one).to.include({ by: 'provider' });
        expect(one.groups).to.deep.equal(['reviewers']);
        expect(Date.parse(one.expires) - Date.parse(one.created)).to.equal(3_600_000);
      }
      expect(sessions.at(-1)!.name).to.match(/^Kim K\.#/);
      expect(await reader.get('/v1/review/sessions', ReviewSessions)).to.deep.equal({ sessions: [] });
      for (const path of [`/${newest[1]!.id}`, `?${new URLSearchParams({ of: newest[1]!.name })}`]) {
        const refused = await reader
          .delete(`/v1/review/sessions${path}`, EndedSessions)
          .catch((error) => error);
        expect([403, 404]).to.include(refused.status);
      }
      const stream = await again.get('/live');
      await admin.delete(`/v1/review/sessions/${newest[1]!.id}`, EndedSessions);
      // It ends by itself.
      await stream.text();
      expect([await status(mira), await status(again), await status(kim)]).to.deep.equal([200, 401, 200]);
      const all = new URLSearchParams({ of: newest[0]!.name });
      const { ended } = await admin.delete(`/v1/review/sessions?${all}`, EndedSessions);
      expect(ended).to.equal(theirs.length - 1);
      expect([await status(mira), await status(kim)]).to.deep.equal([401, 200]);
    } finally {
      await Promise.all([admin.close(), reader.close()]);
    }
  });
});

import { request } from 'node:http';
import { expect } from 'chai';
import type { JWTPayload } from 'jose';
import type { HttpBrowser } from '../fixtures/oidc/http-browser.ts';
import { makeOidcWorld, type OidcWorld } from '../fixtures/oidc/oidc-world.ts';
import { type Lie, newKey } from '../fixtures/oidc/real-provider.ts';

describe('Signing in by an identity provider, attacked', () => {
  let world: OidcWorld;
  before(async () => {
    world = await makeOidcWorld();
    world.provider.accounts
      .set('mira', { email: 'mira@example.org', groups: ['leads'] })
      .set('mallory', { email: 'mallory@example.org', groups: ['readers'] });
  });
  after(() => world?.close());
  afterEach(() => {
    world.provider.lie = null;
  });

  /** Which of them the browser is signed in as; null for nobody. */
  async function signedInAs(browser: HttpBrowser): Promise<string | null> {
    const answer = await browser.get('/');
    return /class="who"[^>]*>([^<]*)</.exec(await answer.text())?.[1] ?? null;
  }

  const sessionCookie = (browser: HttpBrowser) =>
    [...browser.cookies].find(([name]) => /^core_review_\d+$/.test(name))?.[1];

  async function refused(answer: Response, status: number, code: string): Promise<void> {
    const text = await answer.text();
    expect([answer.status, text.includes(code)], text).to.deep.equal([status, true]);
    expect(answer.headers.getSetCookie()).to.deep.equal([]);
  }

  it('takes no callback in a browser that did not begin the sign-in, which goes on in its own', async () => {
    const [mallory, mira] = [world.browser(), world.browser()];
    const callback = await mallory.toCallback('mallory');
    // She has a sign-in of her own under way.
    await mira.get('/sign-in/provider');
    await refused(await mira.get(callback), 401, 'sign_in_unknown');
    await refused(await world.browser().get(callback), 401, 'sign_in_unknown');
    expect(await signedInAs(mira)).to.equal(null);
    expect((await mallory.get(callback)).status).to.equal(200);
    expect(await signedInAs(mallory)).to.equal('mallory@example.org');
  });

  it('takes a callback once, and none with a state of nobody', async () => {
    const mira = world.browser();
    const callback = await mira.toCallback('mira');
    expect((await mira.get(callback)).status).to.equal(200);
    await refused(await mira.get(callback), 401, 'sign_in_unknown');
    const other = new URL(await mira.toCallback('mira'));
    for (const state of ['', 'x'.repeat(43)]) {
      other.searchParams.set('state', state);
      await refused(await mira.get(other.href), 401, 'sign_in_unknown');
    }
    other.searchParams.delete('state');
    await refused(await mira.get(other.href), 401, 'sign_in_unknown');
  });

  it('takes no code of another sign-in', async () => {
    const [mallory, mira] = [world.browser(), world.browser()];
    const theirs = new URL(await mira.toCallback('mira'));
    const own = new URL(await mallory.toCallback('mallory'));
    own.searchParams.set('code', theirs.searchParams.get('code')!);
    await refused(await mallory.get(own.href), 422, 'identity_client_refused');
    expect(await signedInAs(mallory)).to.equal(null);
  });

  it('takes no answer of another issuer, or of one that hides who it is', async () => {
    for (const iss of ['https://evil.test', `${world.provider.issuer}/`, null]) {
      const mira = world.browser();
      const callback = new URL(await mira.toCallback('mira'));
      if (iss === null) callback.searchParams.delete('iss');
      else callback.searchParams.set('iss', iss);
      await refused(await mira.get(callback.href), 403, 'sign_in_invalid');
      expect(await signedInAs(mira)).to.equal(null);
    }
    const mira = world.browser();
    const twice = `${await mira.toCallback('mira')}&iss=https%3A%2F%2Fevil.test`;
    await refused(await mira.get(twice), 403, 'sign_in_invalid');
  });

  const now = () => Math.floor(Date.now() / 1000);
  const other = newKey();
  const unsigned = (claims: JWTPayload) =>
    `${['{"alg":"none"}', JSON.stringify(claims)].map((part) => Buffer.from(part).toString('base64url')).join('.')}.`;
  const lies: Readonly<Record<string, Lie>> = {
    'of another issuer': (claims, sign) => sign({ ...claims, iss: 'https://evil.test' }),
    'for another client': (claims, sign) => sign({ ...claims, aud: 'core-public' }),
    'for several clients, made for another': (claims, sign) =>
      sign({ ...claims, aud: ['core', 'other'], azp: 'other' }),
    'with another nonce': (claims, sign) => sign({ ...claims, nonce: 'x'.repeat(43) }),
    'without a nonce': ({ nonce: _, ...claims }, sign) => sign(claims),
    'without a subject': ({ sub: _, ...claims }, sign) => sign(claims),
    'that has expired': (claims, sign) => sign({ ...claims, iat: now() - 900, exp: now() - 300 }),
    'that is of later': (claims, sign) => sign({ ...claims, nbf: now() + 300 }),
    'with a key of nobody': (claims) => other.sign(claims),
    'without a signature': unsigned,
    'that is none': () => 'x.y.z',
  };
  for (const [what, lie] of Object.entries(lies)) {
    it(`takes no ID token ${what}`, async () => {
      world.provider.lie = lie;
      const mira = world.browser();
      await refused(await mira.signIn('mira'), 403, 'sign_in_invalid');
      expect(await signedInAs(mira)).to.equal(null);
    });
  }

  it('bears with a clock that is a little off, as configured', async () => {
    world.provider.lie = (claims, sign) => sign({ ...claims, iat: now() - 600, exp: now() - 15 });
    const mira = world.browser();
    expect((await mira.signIn('mira')).status).to.equal(200);
    world.configure({ clock_tolerance_seconds: 5 });
    await refused(await world.browser().signIn('mira'), 403, 'sign_in_invalid');
    world.configure({});
  });

  it('takes over no claims for another subject', async () => {
    const hostile = await makeOidcWorld({ claimsAtUserinfo: true });
    try {
      hostile.provider.accounts.set('mallory', { groups: ['leads'] });
      hostile.provider.lie = (claims, sign) => sign({ ...claims, sub: 'sub-mira' });
      await refused(await hostile.browser().signIn('mallory'), 403, 'sign_in_invalid');
    } finally {
      await hostile.close();
    }
  });

  it('leads nowhere else after signing in', async () => {
    const targets = [
      '//evil.test',
      'https://evil.test',
      '/\\evil.test',
      'run_x',
      `run_${'0'.repeat(36)}/../x`,
      '"><b>',
    ];
    for (const target of targets) {
      const answer = await world.browser().signIn('mira', target);
      const text = await answer.text();
      expect([answer.status, text.includes('content="0; url=/"')], target).to.deep.equal([200, true]);
      expect(text).to.not.contain('evil').and.to.not.contain('<b>');
    }
  });

  it('makes no address of a Host header', async () => {
    const { port } = new URL(world.review.url);
    const evil = await withHost('/sign-in/provider', 'evil.test');
    expect([evil.status, evil.location]).to.deep.equal([403, undefined]);
    const elsewhere = await withHost('/sign-in/provider?run=run_x', `localhost:${port}`);
    expect(elsewhere).to.deep.equal({
      status: 303,
      location: `${world.review.url}/sign-in/provider?run=run_x&moved=yes`,
    });
    // Where a proxy changes the header, the browser is not sent in a circle.
    expect((await withHost('/sign-in/provider?moved=yes', `localhost:${port}`)).status).to.equal(401);
  });

  /** fetch sets the header itself. */
  function withHost(
    path: string,
    host: string,
  ): Promise<{ readonly status: number | undefined; readonly location: string | undefined }> {
    return new Promise((resolve, reject) => {
      const sent = request(`${world.review.url}${path}`, { headers: { host } }, (answer) => {
        answer.resume();
        resolve({ status: answer.statusCode, location: answer.headers.location });
      });
      sent.on('error', reject).end();
    });
  }

  it('begins a session that nobody knew before, with a cookie for this site alone', async () => {
    const mira = world.browser();
    const { port } = new URL(world.review.url);
    const planted = 'A'.repeat(43);
    mira.cookies.set(`core_review_${port}`, planted).set(`core_review_provider_${port}`, planted);
    const begun = await mira.get('/sign-in/provider');
    expect(begun.headers.getSetCookie()[0]).to.not.contain(planted);
    const callback = await mira.throughProvider(begun.headers.get('location')!, 'mira');
    const arrived = await mira.get(callback);
    expect(arrived.headers.getSetCookie()).to.have.length(1);
    expect(arrived.headers.getSetCookie()[0]).to.match(
      /^core_review_\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=3600$/,
    );
    expect(arrived.headers.get('referrer-policy')).to.equal('no-referrer');
    expect(sessionCookie(mira)).to.not.equal(planted);
    const first = sessionCookie(mira);
    expect((await mira.signIn('mira')).status).to.equal(200);
    expect(sessionCookie(mira)).to.not.equal(first);
  });

  it('changes nothing for another site: a sign-in that it begins ends in no session, and no form is taken', async () => {
    const mira = world.browser();
    expect((await mira.signIn('mira')).status).to.equal(200);
    const before = sessionCookie(mira);
    await mira.get('/sign-in/provider', { origin: world.review.url });
    expect([sessionCookie(mira), await signedInAs(mira)]).to.deep.equal([before, 'mira@example.org']);
    expect((await mira.post('/sign-out', { csrf: '' })).status).to.equal(403);
    expect((await mira.post('/sign-in/callback', {})).status).to.equal(405);
    expect(await signedInAs(mira)).to.equal('mira@example.org');
  });

  it('shows what the provider says as text', async () => {
    const answer = await world.browser().signIn('<i>nobody</i>');
    const text = await answer.text();
    expect(answer.status).to.equal(403);
    expect(text)
      .to.contain('access_denied')
      .and.to.contain('&lt;b&gt;&lt;i&gt;nobody&lt;/i&gt;&lt;/b&gt; is nobody here')
      .and.to.not.contain('<i>nobody');
    world.provider.accounts.set('odd', {
      groups: ['readers'],
      name: '\u202e<script>x</script>@everyone\u001b[31m [a](http://evil.test)',
    });
    const odd = world.browser();
    await odd.signIn('odd');
    expect(await signedInAs(odd)).to.equal('script x script everyone 31m a http evil.test');
  });

  it('shows nobody with an address that they may not have', async () => {
    world.provider.accounts.set('sly', {
      groups: ['readers'],
      email: 'mira@example.org',
      email_verified: false,
      preferred_username: 'sly',
    });
    const sly = world.browser();
    await sly.signIn('sly');
    expect(await signedInAs(sly)).to.equal('sly');
  });
});

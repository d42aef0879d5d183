import { request } from 'node:http';
import { expect } from 'chai';
import { makeOidcWorld, type OidcWorld } from '../fixtures/oidc/oidc-world.ts';

interface Answer {
  readonly status: number | undefined;
  readonly location: string | undefined;
  readonly cookies: readonly string[];
  readonly text: string;
}

describe('Signing in by an identity provider behind a proxy that ends TLS', () => {
  const host = 'core.example.org';
  let world: OidcWorld;
  before(async () => {
    world = await makeOidcWorld({ proxied: host });
    world.provider.accounts.set('mira', { email: 'mira@example.org', groups: ['readers'] });
  });
  after(() => world?.close());

  /** As the proxy passes it on. */
  function ask(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const passed = { host, 'x-forwarded-proto': 'https', ...headers };
    return new Promise((resolve, reject) => {
      const sent = request(`${world.review.url}${path}`, { headers: passed }, (answer) => {
        const pieces: Buffer[] = [];
        answer.on('data', (piece) => pieces.push(piece));
        answer.on('end', () =>
          resolve({
            status: answer.statusCode,
            location: answer.headers.location,
            cookies: answer.headers['set-cookie'] ?? [],
            text: Buffer.concat(pieces).toString(),
          }),
        );
      });
      sent.on('error', reject).end();
    });
  }

  it('comes back to the public address, with cookies that no plain request gets and no neighbour sets', async () => {
    const { port } = new URL(world.review.url);
    const begun = await ask('/sign-in/provider');
    expect(new URL(begun.location!).searchParams.get('redirect_uri')).to.equal(
      `https://${host}/sign-in/callback`,
    );
    expect(begun.cookies[0]).to.match(
      new RegExp(
        `^__Host-core_review_provider_${port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=600$`,
      ),
    );
    const callback = await world.browser().throughProvider(begun.location!, 'mira');
    const { pathname, search, origin } = new URL(callback);
    expect(origin).to.equal(`https://${host}`);
    const cookie = begun.cookies[0]!.split(';')[0]!;
    // The same text under the name that a neighbour of the domain could set is none.
    const planted = await ask(pathname + search, { cookie: cookie.replace('__Host-', '') });
    expect([planted.status, planted.text.includes('sign_in_unknown')]).to.deep.equal([401, true]);
    const arrived = await ask(pathname + search, { cookie });
    expect([arrived.status, arrived.cookies.length]).to.deep.equal([200, 1]);
    expect(arrived.cookies[0]).to.match(
      new RegExp(
        `^__Host-core_review_${port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=3600$`,
      ),
    );
    const page = await ask('/', { cookie: arrived.cookies[0]!.split(';')[0]! });
    expect([page.status, page.text.includes('>mira@example.org</span>')]).to.deep.equal([200, true]);
  });

  it('sends a browser that came by another name to the public address first', async () => {
    const answer = await ask('/sign-in/provider', { host: '127.0.0.1' });
    expect([answer.status, answer.location]).to.deep.equal([
      303,
      `https://${host}/sign-in/provider?moved=yes`,
    ]);
    expect(answer.cookies).to.deep.equal([]);
  });
});

import { expect } from 'chai';
import { openPostgres } from '#kit/database/postgres.ts';
import { SignInStore } from '../../services/agentd/review/sign-in-store.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { makeReviewWorld, type ReviewWorld } from '../fixtures/review/review-world.ts';
import { describeWith } from '../needs.ts';

describeWith(['postgres'], 'The review page of two core-agentd on one database', () => {
  let server: PostgresServer;
  let review: ReviewWorld;
  let stores: SignInStore[];

  before(async () => {
    server = await startPostgres();
    const settings = await server.database();
    stores = ['one', 'two'].map(
      (name) => new SignInStore(openPostgres(settings, name, { schema: agentdSchema })),
    );
    review = await makeReviewWorld(undefined, { hosts: stores.map((signIns) => ({ signIns })) });
  });
  after(async () => {
    await review?.close();
    for (const store of stores ?? []) await store.close();
    await server?.stop();
  });

  const cookies = new Map<string, string>();

  /** As a browser behind a proxy that sends each request to either. */
  async function ask(host: number, path: string, form?: Record<string, string>): Promise<Response> {
    const response = await fetch(review.urls[host]! + path, {
      headers: { Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      redirect: 'manual',
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';')[0]!.split('=');
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  }

  it('signs a browser in by a link of the other, serves it at both, and signs it out of both', async () => {
    const link = new URL(await review.link('mira'));
    const opened = await ask(1, link.pathname + link.search);
    expect(await opened.text()).to.contain('Sign in as mira');
    const signedIn = await ask(0, '/sign-in', { code: link.searchParams.get('code')! });
    expect(signedIn.status).to.equal(303);
    const pages = await Promise.all([0, 1].map((host) => ask(host, '/')));
    expect(pages.map(({ status }) => status)).to.deep.equal([200, 200]);
    expect((await ask(1, link.pathname + link.search)).status).to.equal(401);
    const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(await pages[1]!.text()) ?? [];
    const kept = new Map(cookies);
    expect((await ask(1, '/sign-out', { csrf })).status).to.equal(303);
    for (const [name, value] of kept) cookies.set(name, value);
    expect((await ask(0, '/')).status).to.equal(401);
  });

  it('ends at both what a token began, when that is revoked', async () => {
    const link = new URL(await review.link('kim'));
    await ask(0, link.pathname + link.search);
    await ask(1, '/sign-in', { code: link.searchParams.get('code')! });
    expect((await ask(0, '/')).status).to.equal(200);
    review.revoke('kim');
    expect([(await ask(0, '/')).status, (await ask(1, '/')).status]).to.deep.equal([401, 401]);
  });
});

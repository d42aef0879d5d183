import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import type { SessionOwner } from '../../services/agentd/review/session-owner.ts';
import { type Attempt, limits, SignInStore } from '../../services/agentd/review/sign-in-store.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { signInsIn } from '../fixtures/review/sign-ins.ts';
import { describeWith } from '../needs.ts';

interface Place {
  open(): SignInStore;
  /** Lets the store's clock go on. */
  pass(ms: number): Promise<void>;
}

const minute = 60_000;
const nothing = { link: null, session: null };
const mira: SessionOwner = { kind: 'token', name: 'mira', sha256: 'a'.repeat(64) };
const yuki: SessionOwner = {
  kind: 'account',
  account: { issuer: 'https://id.example.org', subject: 'yuki\u0000' },
  shown: 'yuki@example.org',
  groups: ['leads'],
};
const attempt: Attempt = {
  nonce: 'n',
  verifier: 'v',
  run: null,
  before: digest(5),
  issuer: 'https://id.example.org',
  client_id: 'core',
};

function digest(n: number): string {
  return n.toString(16).padStart(64, '0');
}

function contract(name: string, makePlace: () => Place | Promise<Place>): void {
  describe(`who is signed in, in ${name}`, () => {
    let place: Place;
    let store: SignInStore;

    beforeEach(async () => {
      place = await makePlace();
      store = place.open();
    });
    afterEach(() => store.close());

    it('is whose session was begun, until it ends', async () => {
      expect(await store.begin(digest(1), mira, minute, nothing)).to.equal(true);
      expect(await store.begin(digest(2), yuki, 2 * minute, nothing)).to.equal(true);
      expect((await store.session(digest(2)))?.owner).to.deep.equal(yuki);
      const first = (await store.session(digest(1)))!;
      expect(first.owner).to.deep.equal(mira);
      expect(Date.parse(first.expires) - Date.parse(first.created)).to.equal(minute);
      expect((await store.sessions()).map(({ sha256 }) => sha256)).to.deep.equal([digest(1), digest(2)]);
      await place.pass(minute);
      expect(await store.session(digest(1))).to.equal(null);
      expect((await store.sessions()).map(({ sha256 }) => sha256)).to.deep.equal([digest(2)]);
      expect(await store.end(digest(1))).to.equal(false);
      expect(await store.end(digest(2))).to.equal(true);
      expect(await store.sessions()).to.deep.equal([]);
    });

    it('takes the place of whom the browser was before', async () => {
      await store.begin(digest(1), mira, minute, nothing);
      await store.begin(digest(2), mira, minute, { link: null, session: digest(1) });
      expect((await store.sessions()).map(({ sha256 }) => sha256)).to.deep.equal([digest(2)]);
    });

    it('is who uses a link, in the browser that opened it first, once', async () => {
      await store.addLink(digest(1), mira, minute);
      expect(await store.link(digest(1))).to.deep.include({ owner: mira, browser: null });
      const opened = await Promise.all(
        [digest(7), digest(8)].map((browser) => store.giveLink(digest(1), browser)),
      );
      expect(opened.filter(Boolean)).to.have.length(1);
      const browser = opened[0] ? digest(7) : digest(8);
      const other = opened[0] ? digest(8) : digest(7);
      expect(await store.giveLink(digest(1), browser)).to.equal(true);
      const use = (session: string, by: string) =>
        store.begin(session, mira, minute, { link: { sha256: digest(1), browser: by }, session: null });
      expect(await use(digest(2), other)).to.equal(false);
      const used = await Promise.all([digest(3), digest(4)].map((session) => use(session, browser)));
      expect(used.filter(Boolean)).to.have.length(1);
      expect(await store.sessions()).to.have.length(1);
      expect(await store.link(digest(1))).to.equal(null);
      expect(await store.giveLink(digest(1), browser)).to.equal(false);
    });

    it('is nobody by a link that is too old, or that another session of its browser was meant to end', async () => {
      await store.begin(digest(5), mira, 5 * minute, nothing);
      await store.addLink(digest(1), mira, minute);
      await store.giveLink(digest(1), digest(7));
      await place.pass(minute);
      const link = { sha256: digest(1), browser: digest(7) };
      expect(await store.begin(digest(2), mira, minute, { link, session: digest(5) })).to.equal(false);
      expect([await store.link(digest(1)), await store.giveLink(digest(1), digest(7))]).to.deep.equal([
        null,
        false,
      ]);
      expect((await store.sessions()).map(({ sha256 }) => sha256)).to.deep.equal([digest(5)]);
    });

    it('is nobody any more of an owner whose sessions and links are ended, and everybody else', async () => {
      for (const [n, owner] of [mira, mira, yuki].entries())
        await store.begin(digest(n), owner, minute, nothing);
      await store.addLink(digest(9), mira, minute);
      await store.addLink(digest(10), yuki, minute);
      expect(await store.endAll('mira')).to.equal(2);
      expect(await store.endAll('mira')).to.equal(0);
      expect((await store.sessions()).map(({ sha256 }) => sha256)).to.deep.equal([digest(2)]);
      expect([await store.link(digest(9)), (await store.link(digest(10)))?.browser]).to.deep.equal([
        null,
        null,
      ]);
    });

    it('is known of a sign-in under way by its browser alone, once', async () => {
      await store.addAttempt(digest(1), attempt, digest(7), minute);
      expect(await Promise.all([digest(7), digest(8)].map((one) => store.hasAttempt(one)))).to.deep.equal([
        true,
        false,
      ]);
      expect(await store.takeAttempt(digest(1), digest(8))).to.equal(null);
      expect(await store.takeAttempt(digest(1), digest(7))).to.deep.equal(attempt);
      expect(await store.takeAttempt(digest(1), digest(7))).to.equal(null);
      await store.addAttempt(digest(2), attempt, digest(7), minute);
      await place.pass(minute);
      expect([
        await store.hasAttempt(digest(7)),
        await store.takeAttempt(digest(2), digest(7)),
      ]).to.deep.equal([false, null]);
    });

    it('is of a bounded number: the oldest goes', async () => {
      for (let n = 0; n <= limits.links; n++) await store.addLink(digest(n), mira, minute);
      expect(
        await Promise.all([0, 1].map(async (n) => (await store.link(digest(n))) !== null)),
      ).to.deep.equal([false, true]);
    });
  });
}

const inDatabase = (settings: PostgresSettings) =>
  new SignInStore(openPostgres(settings, 'core-test', { schema: agentdSchema }));

contract('a file', () => {
  let now = Date.now();
  return {
    open: () => signInsIn(temporaryFolder(), () => now),
    async pass(ms) {
      now += ms;
    },
  };
});

describeWith(['postgres'], 'Who is signed in, in PostgreSQL', () => {
  let server: PostgresServer;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  contract('PostgreSQL', async () => {
    const settings = await server.database();
    return {
      open: () => inDatabase({ ...settings, connections: 3 }),
      // What is kept grows older: the clock of a server goes on by itself.
      async pass(ms) {
        for (const table of ['review_sessions', 'review_links', 'review_attempts'])
          await server.ask(settings, `UPDATE ${table} SET expires_at = expires_at - ${ms}`);
      },
    };
  });

  it('is the same at two daemons: a link of one is used at the other', async () => {
    const settings = await server.database();
    const [one, other] = [0, 1].map(() => inDatabase({ ...settings, connections: 2 }));
    await one!.addLink(digest(1), mira, minute);
    await other!.giveLink(digest(1), digest(7));
    await one!.begin(digest(2), mira, minute, {
      link: { sha256: digest(1), browser: digest(7) },
      session: null,
    });
    expect((await other!.session(digest(2)))?.owner).to.deep.equal(mira);
    await other!.endAll('mira');
    expect(await one!.session(digest(2))).to.equal(null);
    await Promise.all([one!.close(), other!.close()]);
  });
});

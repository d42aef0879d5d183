import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { codeOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import type { TokenRegistry } from '#kit/tokens/registry.ts';
import { inForce } from '#kit/tokens/token.ts';
import { fateOf } from '#kit/tokens/token-history.ts';
import { ensureTokens } from '#kit/tokens/tokens.ts';
import { until } from '../fixtures/until.ts';

export type TokenFolders = Pick<Folders, 'tokens' | 'registry'>;

/** Where the same tokens are known to several processes. */
export interface TokensBench {
  /** Folders of another process, or host, with the same registry. */
  folders(): TokenFolders;
  open(folders: TokenFolders): Promise<TokenRegistry>;
  /** All that is stored, in one text. */
  stored(): Promise<string>;
  end(): Promise<void>;
}

/** What is not seen by others within so many milliseconds is too late: a second, and what a busy machine adds. */
export const withinMs = 10_000;

export function describeTokens(title: string, prepare: () => Promise<TokensBench>): void {
  describe(`${title}: the registry of tokens`, () => {
    let bench: TokensBench;
    let here: TokenFolders;
    let one: TokenRegistry;
    let two: TokenRegistry;

    beforeEach(async () => {
      bench = await prepare();
      here = bench.folders();
      ensureTokens(here, 'mira');
      one = await bench.open(here);
      two = await bench.open(bench.folders());
    });

    afterEach(() => bench.end());

    async function failure(work: () => Promise<unknown>): Promise<unknown> {
      return work().then(
        () => expect.fail('it did not fail'),
        (error: unknown) => error,
      );
    }

    it('knows a token on each side within a second after it was made on one', async () => {
      const { text, path, record } = await one.create({ name: 'ci', scopes: ['plan'] });
      const made = performance.now();
      expect(readFileSync(path, 'utf8').trim()).to.equal(text);
      expect(one.authenticate(text)).to.deep.include({ name: 'ci', scopes: ['plan'] });
      await until('the other side', () => two.authenticate(text) !== null);
      expect(performance.now() - made).to.be.below(withinMs);
      expect(two.authenticate(text)).to.deep.include({ name: 'ci', scopes: ['plan'] });
      expect(two.authenticate(record.sha256)).to.equal(null);
      expect(two.authenticate(`${text} `)).to.equal(null);
      expect(await bench.stored())
        .to.contain(record.sha256)
        .and.not.contain(text);
    });

    it('lets nothing in on any side a second after a token was revoked on one, and keeps its record', async () => {
      const { text } = await one.create({ name: 'ci', scopes: ['plan'] });
      await until('the other side', () => two.authenticate(text) !== null);
      const { record, elsewhere } = await one.revoke('ci');
      const revoked = performance.now();
      expect(record.revoked).to.be.a('string');
      expect(elsewhere).to.deep.equal([]);
      expect(one.authenticate(text)).to.equal(null);
      await until('the other side', () => two.authenticate(text) === null);
      expect(performance.now() - revoked).to.be.below(withinMs);
      expect(existsSync(join(here.tokens, 'ci.token'))).to.equal(false);
      expect(two.list().find(({ name }) => name === 'ci')?.revoked).to.equal(record.revoked);
      // Again: it stays as it was.
      expect((await one.revoke('ci')).record.revoked).to.equal(record.revoked);
    });

    it('gives a name again after its token was revoked, to another text', async () => {
      const first = await one.create({ name: 'ci', scopes: ['plan', 'read'] });
      await one.revoke('ci');
      const second = await one.create({ name: 'ci', scopes: ['read'] });
      await until('the other side', () => two.authenticate(second.text) !== null);
      expect(two.authenticate(second.text)?.scopes).to.deep.equal(['read']);
      expect([one.authenticate(first.text), two.authenticate(first.text)]).to.deep.equal([null, null]);
      expect(two.list().filter(({ name }) => name === 'ci')).to.have.length(1);
    });

    it('gives a token a new text, which alone opens from then on, and knows both', async () => {
      const first = await one.create({ name: 'ci', scopes: ['plan'], expires: '2099-01-01T00:00:00.000Z' });
      const second = await one.rotate({ name: 'ci' });
      const third = await one.rotate({ name: 'ci', expires: '2098-01-01T00:00:00.000Z' });
      expect(readFileSync(third.path, 'utf8').trim()).to.equal(third.text);
      expect(third.record).to.deep.include({ name: 'ci', kind: 'named', scopes: ['plan'] });
      expect([second, third].map(({ record }) => record.expires)).to.deep.equal([
        '2099-01-01T00:00:00.000Z',
        '2098-01-01T00:00:00.000Z',
      ]);
      await until('the other side', () => two.authenticate(third.text) !== null);
      for (const side of [one, two]) {
        for (const { text } of [first, second]) expect(side.authenticate(text)).to.equal(null);
        const chain = fateOf(side.list(), 'ci', first.record.sha256)?.rotations.map(({ from, to }) => [
          from,
          to,
        ]);
        expect(chain).to.deep.equal([
          [first.record.sha256, second.record.sha256],
          [second.record.sha256, third.record.sha256],
        ]);
      }
    });

    it('refuses to rotate what is not in force or unknown, and remembers a revocation behind a new token', async () => {
      expect(codeOf(await failure(() => one.rotate({ name: 'ci' })))).to.equal('token_not_found');
      const first = await one.create({ name: 'ci', scopes: ['plan'] });
      await one.rotate({ name: 'ci' });
      await one.revoke('ci');
      expect(codeOf(await failure(() => one.rotate({ name: 'ci' })))).to.equal('token_not_in_force');
      await one.create({ name: 'ci', scopes: ['plan'] });
      const fate = fateOf(one.list(), 'ci', first.record.sha256);
      expect(fate?.revoked).to.be.a('string');
      expect(fate?.rotations).to.have.length(1);
    });

    it('gives a name to one of several who ask at once', async () => {
      const others = await Promise.all([1, 2, 3].map(() => bench.open(bench.folders())));
      const answers = await Promise.allSettled(
        [one, ...others].map((registry) => registry.create({ name: 'ci', scopes: ['read'] })),
      );
      const made = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
      const codes = answers.flatMap((answer) =>
        answer.status === 'rejected' ? [codeOf(answer.reason)] : [],
      );
      expect(codes).to.deep.equal(Array(3).fill('token_exists'));
      await until('the other side', () => two.authenticate(made[0]!.text) !== null);
    });

    it('ends a token at its expiry on each side', async () => {
      const expires = new Date(one.now() + 1_500).toISOString();
      const { text } = await one.create({ name: 'brief', scopes: ['read'], expires });
      await until('the other side', () => two.authenticate(text) !== null);
      await until('the expiry', () => one.authenticate(text) === null && two.authenticate(text) === null);
      expect(one.now()).to.be.at.least(Date.parse(expires));
      expect(inForce(two.list().find(({ name }) => name === 'brief')!, two.now())).to.equal(false);
    });

    it('refuses names, scopes and expiries that break their rules, and what it does not know', async () => {
      const cases: [() => Promise<unknown>, string][] = [
        [() => one.create({ name: 'A', scopes: ['read'] }), 'token_name_invalid'],
        [() => one.create({ name: 'ci', scopes: [] }), 'token_scopes_missing'],
        [
          () => one.create({ name: 'ci', scopes: ['read'], expires: '2001-01-01T00:00:00Z' }),
          'token_expiry_invalid',
        ],
        [() => one.revoke('ci'), 'token_not_found'],
        [() => one.revoke('bridge', 'nowhere'), 'token_not_found'],
      ];
      for (const [work, code] of cases) expect(codeOf(await failure(work)), code).to.equal(code);
      expect(await bench.stored()).not.to.contain('"ci"');
    });

    it('knows the tokens of the first start, in their order, and those that services and people made since', async () => {
      const names = () => one.list().map(({ name }) => name);
      expect(names().slice(0, 4)).to.deep.equal(['mira', 'bridge', 'worker', 'agentd']);
      const text = readFileSync(join(here.tokens, 'bridge.token'), 'utf8').trim();
      await until('the other side', () => two.authenticate(text)?.name === 'bridge');
      expect(one.authenticate(text)).to.deep.include({ name: 'bridge', scopes: ['read', 'plan'] });
    });

    it('makes no token over a file that it does not know', async () => {
      const path = join(here.tokens, 'ci.token');
      const other = `core_ci_${'a'.repeat(48)}\n`;
      writeFileSync(path, other, { mode: 0o600 });
      const refused = await failure(() => one.create({ name: 'ci', scopes: ['read'] }));
      expect(codeOf(refused)).to.equal('token_file_unknown');
      expect(readFileSync(path, 'utf8')).to.equal(other);
      expect(one.authenticate(other.trim())).to.equal(null);
    });
  });
}

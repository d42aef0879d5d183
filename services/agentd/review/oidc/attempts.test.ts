import { expect } from 'chai';
import { temporaryFolder } from '../../../../test/fixtures/repositories/temporary-folder.ts';
import { signInsIn } from '../../../../test/fixtures/review/sign-ins.ts';
import { SignInAttempts } from './attempts.ts';

describe('Sign-ins under way at the provider', () => {
  const about = { run: null, before: null, issuer: 'https://id.example.org', client_id: 'core' };
  let now: number;
  let attempts: SignInAttempts;
  beforeEach(() => {
    now = 1_000_000;
    attempts = new SignInAttempts(signInsIn(temporaryFolder(), () => now));
  });

  it('end once, in the browser that began them, within ten minutes', async () => {
    const { attempt, state, browser } = await attempts.begin(about, null);
    expect(await attempts.end(state, null)).to.equal(null);
    expect(await attempts.end(state, 'x'.repeat(43))).to.equal(null);
    expect(await attempts.end('x'.repeat(43), browser)).to.equal(null);
    expect(await attempts.end(state, browser)).to.deep.include(attempt);
    expect(await attempts.end(state, browser)).to.equal(null);
    const late = await attempts.begin(about, browser);
    now += 600_000;
    expect(await attempts.end(late.state, late.browser)).to.equal(null);
  });

  it('of several tabs share a cookie, and take over none that is not from here', async () => {
    const first = await attempts.begin(about, null);
    const second = await attempts.begin(about, first.browser);
    expect(second.browser).to.equal(first.browser);
    expect((await attempts.begin(about, 'x'.repeat(43))).browser).to.not.equal('x'.repeat(43));
    expect(await attempts.end(first.state, second.browser)).to.not.equal(null);
    expect(await attempts.end(second.state, first.browser)).to.not.equal(null);
  });

  it('are at most ten thousand: the oldest goes', async () => {
    const oldest = await attempts.begin(about, null);
    const next = await attempts.begin(about, null);
    for (let more = 0; more < 9_999; more++) await attempts.begin(about, null);
    expect(await attempts.end(oldest.state, oldest.browser)).to.equal(null);
    expect(await attempts.end(next.state, next.browser)).to.not.equal(null);
  });
});

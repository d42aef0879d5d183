import { expect } from 'chai';
import { SignInAttempts } from './attempts.ts';

describe('Sign-ins under way at the provider', () => {
  const about = { run: null, before: null, issuer: 'https://id.example.org', client_id: 'core' };
  let now: number;
  let attempts: SignInAttempts;
  beforeEach(() => {
    now = 1_000_000;
    attempts = new SignInAttempts(() => now);
  });

  it('end once, in the browser that began them, within ten minutes', () => {
    const { attempt, state, browser } = attempts.begin(about, null);
    expect(attempts.end(state, null)).to.equal(null);
    expect(attempts.end(state, 'x'.repeat(43))).to.equal(null);
    expect(attempts.end('x'.repeat(43), browser)).to.equal(null);
    expect(attempts.end(state, browser)).to.deep.include(attempt);
    expect(attempts.end(state, browser)).to.equal(null);
    const late = attempts.begin(about, browser);
    now += 600_000;
    expect(attempts.end(late.state, late.browser)).to.equal(null);
  });

  it('of several tabs share a cookie, and take over none that is not from here', () => {
    const first = attempts.begin(about, null);
    const second = attempts.begin(about, first.browser);
    expect(second.browser).to.equal(first.browser);
    expect(attempts.begin(about, 'x'.repeat(43)).browser).to.not.equal('x'.repeat(43));
    expect(attempts.end(first.state, second.browser)).to.not.equal(null);
    expect(attempts.end(second.state, first.browser)).to.not.equal(null);
  });

  it('are at most ten thousand: the oldest goes', () => {
    const oldest = attempts.begin(about, null);
    const next = attempts.begin(about, null);
    for (let more = 0; more < 9_999; more++) attempts.begin(about, null);
    expect(attempts.end(oldest.state, oldest.browser)).to.equal(null);
    expect(attempts.end(next.state, next.browser)).to.not.equal(null);
  });
});

import { expect } from 'chai';
import { decodeRunQuery, type RunParameter } from './run-query.ts';

describe('The query of a list of runs', () => {
  const now = new Date('2026-11-23T10:00:00.000Z');
  const decoded = (given: Partial<Record<RunParameter, string>>) => decodeRunQuery(given, now);

  it('is ten of all without parameters', () => {
    expect(decoded({})).to.deep.equal({ limit: 10 });
  });

  it('takes a repository in one word or in two', () => {
    const wanted = { limit: 10, owner: 'koajs', repo: 'koa' };
    expect(decoded({ repository: 'koajs/koa' })).to.deep.equal(wanted);
    expect(decoded({ owner: 'koajs', repo: 'koa' })).to.deep.equal(wanted);
  });

  it('takes dates, times and ages, a date as the whole of its day', () => {
    expect(decoded({ since: '2026-11-20', until: '2026-11-20' })).to.deep.equal({
      limit: 10,
      since: '2026-11-20T00:00:00.000Z',
      until: '2026-11-21T00:00:00.000Z',
    });
    expect(decoded({ since: '2026-11-20T08:00:00+01:00' }).since).to.equal('2026-11-20T07:00:00.000Z');
    expect(decoded({ since: '7d', until: '90m' })).to.include({
      since: '2026-11-16T10:00:00.000Z',
      until: '2026-11-23T08:30:00.000Z',
    });
  });

  const wrong: [Partial<Record<RunParameter, string>>, RegExp][] = [
    [{ since: 'yesterday' }, /since is "yesterday": must be a date.*2026-11-23.*7d/],
    [{ until: '2026-02-30' }, /until is "2026-02-30"/],
    [{ risk: 'huge' }, /risk is "huge".*low, medium, high, critical/],
    [{ text: ' ' }, /text is " "/],
    [{ number: '1e3' }, /number is "1e3"/],
    [{ repository: 'koa' }, /repository is "koa": must be owner\/repo/],
  ];
  for (const [given, message] of wrong) {
    it(`refuses ${JSON.stringify(given)}, and says what is allowed`, () => {
      expect(() => decoded(given))
        .to.throw(message)
        .with.property('code', 'invalid_query');
    });
  }
});

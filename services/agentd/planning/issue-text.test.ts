import { expect } from 'chai';
import { NotFound } from '#kit/errors.ts';
import { MaskTally, secretFinder } from '#kit/redaction/secret-finder.ts';
import type { Author, Comment, Issue } from '../ports/forge.ts';
import type { Run } from '../runs/run.ts';
import { isUnchanged, tallied } from './issue-text.ts';

const ref = { owner: 'demo', repo: 'hello' };
const { signal } = new AbortController();

function person(login: string): Author {
  return { login, association: 'contributor', bot: false };
}

function comment(id: string, login: string, body = 'words'): Comment {
  return { id, body, author: person(login), created_at: '2026-01-02T00:00:00Z', html_url: null };
}

const issue: Issue = {
  number: 1,
  title: 'Greeting is wrong',
  body: 'It is.',
  state: 'open',
  locked: false,
  author: person('mira'),
  labels: ['bug', 'easy'],
  created_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-01T00:00:00Z',
  html_url: null,
};

describe('An issue that was planned', () => {
  const heard = [comment('1', 'mira'), comment('2', 'core-bot')];

  /** As a run stored it, whose planner read `issue` and `heard`. */
  function ports(now: readonly Comment[], read = issue) {
    const text = tallied({ issue: read, comments: heard }, new MaskTally(secretFinder([])));
    const source = { issue: { content: 'digest' } } as NonNullable<Run['source']>;
    return {
      store: {
        read: async () => ({ source }) as Run,
        artifact: async () => Buffer.from(JSON.stringify(text)),
      },
      forge: { comments: async () => [...now], self: async () => ({ login: 'core-bot', id: '7' }) },
    };
  }

  const unchanged = (now: readonly Comment[], change: Partial<Issue> = {}) =>
    isUnchanged(
      ports(now),
      ref,
      { ...issue, updated_at: '2026-02-01T00:00:00Z', ...change },
      'run_1',
      signal,
    );

  it('is unchanged after comments of Core itself, and where the order of labels is another', async () => {
    expect(await unchanged(heard)).to.equal(true);
    expect(await unchanged([...heard, comment('3', 'core-bot')])).to.equal(true);
    expect(await unchanged([heard[0]!])).to.equal(true);
    expect(await unchanged(heard, { labels: ['easy', 'bug'] })).to.equal(true);
  });

  it('is changed by what anybody else says, takes back or says otherwise', async () => {
    expect(await unchanged([...heard, comment('3', 'mira')])).to.equal(false);
    expect(await unchanged([...heard, comment('3', 'core-bot'), comment('4', 'eve')])).to.equal(false);
    expect(await unchanged([heard[1]!])).to.equal(false);
    expect(await unchanged([comment('1', 'mira', 'other words'), heard[1]!])).to.equal(false);
  });

  it('is changed by another title, text, state or label', async () => {
    const changes = [{ title: 'x' }, { body: 'x' }, { state: 'closed' as const }, { labels: ['bug'] }];
    for (const change of changes) expect(await unchanged(heard, change)).to.equal(false);
  });

  it('counts as changed if that is unknown', async () => {
    const masked = ports(heard, { ...issue, masked: [{ kind: 'word', fingerprint: 'sha256:0' }] });
    expect(await isUnchanged(masked, ref, issue, 'run_1', signal)).to.equal(false);
    const pruned = {
      ...ports(heard),
      store: {
        ...ports(heard).store,
        artifact: () => Promise.reject(new NotFound('artifact_not_found', 'it was pruned')),
      },
    };
    expect(await isUnchanged(pruned, ref, issue, 'run_1', signal)).to.equal(false);
  });
});

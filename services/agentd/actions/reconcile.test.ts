import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { NotFound, Refused, Unavailable } from '#kit/errors.ts';
import { sampleAction } from '../../../test/contract/run-store.sample.ts';
import { until } from '../../../test/fixtures/until.ts';
import type { ActionIntent, ActionKind } from '../action.ts';
import type { Account, Comment, PullRequest } from '../ports/forge.ts';
import { requireAccount, requireApprovedAccount } from './account.ts';
import type { ExecutionPorts, Reconciliation, Step } from './executor.ts';
import { marker } from './published-texts.ts';
import { type ActionDefinition, executorsFor } from './registry.ts';

const runId = 'run_0199f3c2-0000-7000-8000-000000000000';
const commit = 'c'.repeat(40);
const bot: Account = { login: 'core-bot', id: '7' };
const other: Account = { login: 'else-bot', id: '8' };
const intentAt = '2026-01-02T03:04:05.000Z';

/** What is on the forge, on the remote and in the clone, and as whom the token sees us. */
interface Place {
  readonly self?: Account | Error;
  readonly branch?: string | null;
  readonly pulls?: readonly PullRequest[];
  readonly comments?: readonly Comment[];
  readonly deadline?: number;
  readonly quiet?: number;
}

/** Comments that somebody else has deleted, and that cannot be deleted. */
const gone = '8';
const kept = '9';

const authorOf = ({ login, id }: Account) => ({ login, id, association: 'none' as const, bot: true });

function pull(number: number, change: Partial<PullRequest> = {}): PullRequest {
  return {
    ...{ number, title: 'Greet', body: '', state: 'open', head: 'core/1-x', head_commit: commit },
    ...{ base: 'main', author: authorOf(bot), html_url: null, created_at: intentAt },
    ...change,
  };
}

function comment(id: string, change: Partial<Comment> = {}): Comment {
  const body = `See #7\n\n${marker(runId, 'act_1_comment_issue')}`;
  return { id, body, author: authorOf(bot), created_at: intentAt, html_url: `/c/${id}`, ...change };
}

/** An action that was begun and not answered, and what is found out about it. */
async function reconciled(
  kind: ActionKind,
  place: Place,
  change: {
    intent?: Partial<ActionIntent>;
    facts?: Record<string, unknown>;
    calls?: string[];
    built?: boolean;
  } = {},
): Promise<Reconciliation> {
  const { self = bot, branch = null, pulls = [], comments = [], deadline = 0 } = place;
  const calls = change.calls ?? [];
  const ports = {
    forge: {
      name: 'remote',
      deadline_ms: deadline,
      async self() {
        if (self instanceof Error) throw self;
        return self;
      },
      findPullRequests: async (_ref: object, head: string) => pulls.filter((one) => one.head === head),
      async pullRequest(_ref: object, number: number) {
        const found = pulls.find((one) => one.number === number);
        if (number < 0) throw new NotFound('repository_not_found', 'there is no such repository');
        if (found === undefined) throw new NotFound('pull_request_not_found', 'there is none');
        return found;
      },
      comments: async (_ref: object, _number: number, { since = '' }) =>
        comments.filter(({ created_at }) => created_at >= since),
    },
    clone: {
      async open() {
        await setImmediate();
        calls.push('open');
      },
      async remoteBranch(name: string) {
        calls.push(`ask for ${name}`);
        return branch;
      },
      async restore(operation: string) {
        await setImmediate();
        calls.push(`restore ${operation}`);
      },
    },
    late: {
      async deleteComment(_ref: object, _number: number, id: string) {
        calls.push(`delete ${id}`);
        if (id === gone) throw new NotFound('comment_not_found', 'it is gone');
        if (id === kept) throw new Refused('forge_refused', 'it stays');
      },
    },
    quietMs: () => place.quiet ?? 60_000,
  } as unknown as ExecutionPorts;
  const action = sampleAction(runId, 1, kind);
  const earlier = (kind: ActionKind, state: string, commit: string) => ({
    ...{ definition: sampleAction(runId, 3, kind), state, outcome: { message: '', facts: { commit } } },
  });
  const actions = [
    earlier('create_branch', 'succeeded', 'a'.repeat(40)),
    earlier('commit', 'failed', 'b'.repeat(40)),
    ...(change.built === false ? [] : [earlier('commit', 'succeeded', commit)]),
  ];
  const intent: ActionIntent = {
    ...{ action_id: action.action_id, attempt: 1, effect_at: intentAt, forge_time: intentAt },
    ...{ account: bot, operation_before: 'op0', deliver_to: undefined, rendered: {} },
    ...change.intent,
  };
  const outcome = change.facts === undefined ? null : { code: undefined, message: '', facts: change.facts };
  const step = {
    run: { run_id: runId, head: { seq: 1, hash: '' }, actions, workspace: null },
    action,
    state: { definition: action, state: 'unknown', outcome, intent },
    progress: (text: string) => void calls.push(text),
  } as unknown as Step<ActionDefinition>;
  return executorsFor(ports)[kind].reconcile(step, intent);
}

const again: Reconciliation = { kind: 'again' };
const changed = (login: string, id: string): Reconciliation => ({
  kind: 'ask',
  message:
    `this was begun on forge 'remote' as core-bot (id 7), and its token now belongs to ${login}${id}; nothing was sent again. ` +
    "put a token of core-bot back into the token file of forge 'remote', then try again",
});
const done = (message: string, facts: Record<string, unknown>): Reconciliation => ({
  kind: 'done',
  effect: { succeeded: true, message, facts, vcs: null },
});
const pushed = done('core/1-x pushed at cccccccccccc', {
  ...{ branch: 'core/1-x', commit, remote: '/srv/hello.git' },
});
const opened = (number: number) => done(`#${number}`, { number, url: null });
const commented = (id: string) => done(`/c/${id}`, { id, url: `/c/${id}` });
const cleaned = (id: string, deleted: readonly string[]) =>
  done(`/c/${id}; deleted ${deleted.length} more that a host had made which lost the run meanwhile`, {
    ...{ id, url: `/c/${id}`, deleted },
  });
const older = { account: undefined };

type Case = readonly [place: Place, found: Reconciliation, change?: Parameters<typeof reconciled>[2]];

const cases: Readonly<Partial<Record<ActionKind, Readonly<Record<string, Case>>>>> = {
  push_branch: {
    'is done where the branch is at our commit': [{ branch: commit }, pushed],
    'is done where the branch is gone and our pull request merged': [
      { pulls: [pull(6, { state: 'closed' }), pull(7, { state: 'merged' })] },
      pushed,
    ],
    'is repeated where the branch is not there': [{ pulls: [pull(7)] }, again],
    'is not repeated as another account': [{ self: other }, changed('else-bot', ' (id 8)')],
    'is in conflict with a branch of others': [
      { branch: 'd'.repeat(40), pulls: [pull(7, { state: 'merged' })] },
      { kind: 'conflict', message: 'core/1-x is at dddddddddddd on the remote; ours is cccccccccccc' },
    ],
  },
  open_pull_request: {
    'is done where it is there, in any state, the newest of several': [
      { pulls: [pull(7), pull(9, { state: 'closed' }), pull(8)] },
      opened(9),
    ],
    'names its page': [
      { pulls: [pull(7, { html_url: '/pulls/7' })] },
      done('#7 /pulls/7', { number: 7, url: '/pulls/7' }),
    ],
    'is repeated where there is none of ours from this branch into this base': [
      {
        pulls: [pull(7, { author: authorOf(other) }), pull(8, { base: 'next' }), pull(9, { head: 'core/2' })],
      },
      again,
    ],
    'is not repeated as another account': [{ self: other }, changed('else-bot', ' (id 8)')],
    'is found as the account that began it': [{ self: other, pulls: [pull(7)] }, opened(7)],
    'is found by its author after a new name': [
      { pulls: [pull(7, { author: authorOf({ ...bot, login: 'new-bot' }) })] },
      opened(7),
    ],
    'is that of the record, whoever it belongs to': [
      { pulls: [pull(7, { author: authorOf(other) }), pull(9)] },
      opened(7),
      { facts: { number: 7 } },
    ],
    'is repeated where that of the record is gone': [{ pulls: [pull(9)] }, again, { facts: { number: 7 } }],
    'is looked for as the account of now where the record names none': [
      { self: other, pulls: [pull(7, { author: authorOf(other) }), pull(8)] },
      opened(7),
      { intent: older },
    ],
    'is repeated where the record names no account': [{ self: other }, again, { intent: older }],
  },
  comment_issue: {
    'is done where it is there': [{ comments: [comment('1')] }, commented('1')],
    'is named where it has no page': [
      { comments: [comment('1', { html_url: null })] },
      done('comment 1', { id: '1', url: null }),
    ],
    'is found by the name of an author without a number': [
      { comments: [comment('1', { author: { ...authorOf(bot), id: undefined } })] },
      commented('1'),
    ],
    'is the oldest where several carry our marker; the others are deleted': [
      { comments: [comment('11'), comment('2'), comment('3', { created_at: '2027-01-01T00:00:00.000Z' })] },
      cleaned('2', ['11', '3']),
    ],
    'is the oldest where another host has deleted the other': [
      { comments: [comment(gone), comment('2')] },
      cleaned('2', [gone]),
    ],
    'is the oldest where the other cannot be deleted': [
      { comments: [comment(kept), comment('2')] },
      commented('2'),
    ],
    'is repeated where none is of us, with our marker and newer than its begin': [
      {
        comments: [
          comment('1', { author: authorOf(other) }),
          comment('2', { body: 'See #7' }),
          comment('3', { body: marker(runId, 'act_2_comment_issue') }),
          comment('4', { created_at: '2026-01-02T02:54:04.000Z' }),
        ],
      },
      again,
    ],
    'is found at any age if the forge reported no time': [
      { comments: [comment('1', { created_at: '2025-01-01T00:00:00.000Z' })] },
      commented('1'),
      { intent: { forge_time: null } },
    ],
    'is that of the record': [
      { comments: [comment('1'), comment('2', { body: 'edited', author: authorOf(other) })] },
      cleaned('2', ['1']),
      { facts: { id: '2' } },
    ],
    'is not repeated as another account': [{ self: other }, changed('else-bot', ' (id 8)')],
    'shows a name once where it is the number': [
      { self: { login: 'mira', id: 'mira' } },
      changed('mira', ''),
    ],
    'is asked of a person after two tries': [
      {},
      {
        kind: 'ask',
        message: 'no comment of ours is there after two tries; look at the issue before you go on',
      },
      { intent: { attempt: 2 } },
    ],
  },
};

describe('what became of an action that was not answered', () => {
  for (const [kind, table] of Object.entries(cases)) {
    for (const [what, [place, found, change]] of Object.entries(table)) {
      it(`${kind} ${what}`, async () => {
        expect(await reconciled(kind as ActionKind, place, change)).to.deep.equal(found);
      });
    }
  }

  it('is asked of the remote by the clone of the run', async () => {
    const calls: string[] = [];
    await reconciled('push_branch', {}, { calls });
    expect(calls).to.deep.equal(['open', 'ask for core/1-x']);
  });

  for (const kind of ['create_branch', 'apply_patch', 'commit', 'run_validation'] as const) {
    it(`does not matter for ${kind}: it is done again from where it began`, async () => {
      const calls: string[] = [];
      expect(await reconciled(kind, {}, { calls })).to.deep.equal(again);
      expect(await reconciled(kind, {}, { calls, intent: { operation_before: null } })).to.deep.equal(again);
      expect(calls).to.deep.equal(kind === 'run_validation' ? [] : ['restore op0']);
    });
  }

  it('is nothing to push where no commit was built', async () => {
    const error = await reconciled('push_branch', {}, { built: false }).catch((error) => error);
    expect([error.code, error.message]).to.deep.equal(['nothing_to_push', `run ${runId} has no commit yet`]);
  });

  it('is not known while the forge does not answer', async () => {
    const silent = new Unavailable('forge_silent', 'no answer');
    const errors = [
      await reconciled('push_branch', { self: silent }).catch((error) => error),
      await reconciled('open_pull_request', {}, { facts: { number: -1 } }).catch((error) => error.code),
    ];
    expect(errors).to.deep.equal([silent, 'repository_not_found']);
  });

  it('is asked for again until a comment cannot be on its way any more', async () => {
    const calls: string[] = [];
    const comments: Comment[] = [];
    const asked = reconciled('comment_issue', { comments, deadline: 60_000, quiet: 500 }, { calls });
    await until('the first question', () => calls.length > 0);
    comments.push(comment('1'));
    expect(await asked).to.deep.equal(commented('1'));
    expect(calls).to.have.length(1);
    expect(calls[0]).to.match(/^the comment may still be on its way; asking again for [1-6]\d? s$/);
  });

  it('is the work of the account that began it, which the plan was approved for', async () => {
    const asked = { name: 'remote', self: async () => other };
    const target = (account?: Account) => ({ ...sampleAction(runId, 1, 'comment_issue').target, account });
    const intent = (account?: Account) => ({ account }) as ActionIntent;
    for (const pass of [
      requireAccount(asked, null),
      requireAccount(asked, intent()),
      requireAccount(asked, intent({ ...other, login: 'old-bot' })),
      requireApprovedAccount(asked, target()),
      requireApprovedAccount(asked, target(other)),
    ])
      await pass;
    for (const [was, work] of [
      ['begun', requireAccount(asked, intent(bot))],
      ['approved', requireApprovedAccount(asked, target(bot))],
    ] as const) {
      const { code, message, facts } = await work.then(
        () => expect.fail(was),
        (error) => error,
      );
      expect({ code, message, facts }).to.deep.equal({
        code: 'account_changed',
        message: `this was ${was} on forge 'remote' as core-bot (id 7), and its token now belongs to else-bot (id 8)`,
        facts: { forge: 'remote', before: bot, now: other },
      });
    }
  });
});

import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import type { EventView, IngressReply } from '#kit/contracts/bridge/events.ts';
import { type ActorRight, actorRights } from '#kit/contracts/plan.ts';
import { type RunningBridge, secrets, startBridge } from '../fixtures/bridge/bridge-service.ts';
import { failure, toyPlanning } from '../fixtures/bridge/toy-planning.ts';

/** Senders as GitHub and Gitea describe them in a delivery. */
const senders = {
  github: {
    person: {
      login: 'ada',
      id: 5_432,
      node_id: 'U_1',
      type: 'User',
      user_view_type: 'public',
      site_admin: false,
    },
    app: { login: 'dependabot[bot]', id: 49_699_333, node_id: 'B_1', type: 'Bot', site_admin: false },
    organisation: { login: 'demo', id: 7, node_id: 'O_1', type: 'Organization', site_admin: false },
    nobody: null,
  },
  gitea: {
    person: {
      id: 2,
      login: 'ada',
      login_name: '',
      source_id: 0,
      full_name: '',
      is_admin: false,
      username: 'ada',
    },
    app: { id: 9, login: 'renovate[bot]', login_name: '', source_id: 0, username: 'renovate[bot]' },
    actions: { id: -2, login: 'gitea-actions', login_name: '', source_id: 0, username: 'gitea-actions' },
    ghost: { id: -1, login: 'Ghost', login_name: '', source_id: 0, username: 'Ghost' },
    nobody: null,
  },
} as const;
const actions = {
  github: ['opened', 'edited', 'reopened', 'labeled'],
  gitea: ['opened', 'edited', 'reopened', 'label_updated'],
} as const;

type Kind = keyof typeof senders;

let number = 0;

/** A delivery about an issue of its own, so that no event covers another one. */
async function deliver(
  bridge: RunningBridge,
  kind: Kind,
  action: string,
  sender: unknown,
  issue: object = { number: ++number },
): Promise<IngressReply> {
  const all = {
    number,
    title: 'Greeting',
    body: '',
    state: 'open',
    updated_at: '2026-01-01T00:00:00Z',
    ...issue,
  };
  const html_url = `https://${kind}.test/demo/hello/issues/${all.number}`;
  const text = JSON.stringify({
    action,
    // The author's association is about the issue. It says nothing about the sender.
    issue: { ...all, html_url, labels: [], user: { login: 'mira' }, author_association: 'OWNER' },
    repository: { name: 'hello', owner: { login: 'demo' } },
    sender,
  });
  const hex = createHmac('sha256', secrets[`${kind}-webhook`]).update(text).digest('hex');
  const id = crypto.randomUUID();
  const headers: Record<string, string> =
    kind === 'github'
      ? { 'x-github-event': 'issues', 'x-hub-signature-256': `sha256=${hex}`, 'x-github-delivery': id }
      : { 'x-gitea-event': 'issues', 'x-gitea-signature': hex, 'x-gitea-delivery': id };
  const { status, body } = await bridge.post(`/v1/ingress/${kind}`, text, headers);
  expect(status).to.equal(202);
  return body as IngressReply;
}

const forgesOf = (kind: Kind) => ({ forges: [{ name: 'work', kind, base_url: `https://${kind}.test` }] });
const processed = async (bridge: RunningBridge): Promise<EventView | null> =>
  ((await bridge.post('/v1/events/process-next', {})).body as { event: EventView | null }).event;

for (const kind of ['github', 'gitea'] as const) {
  for (const by of [undefined, ...actorRights]) {
    describe(`an event of ${kind} with by ${by ?? 'left out'}`, () => {
      const needs: ActorRight = by ?? 'write';
      let bridge: RunningBridge;

      before(async () => {
        const config = by === undefined ? undefined : { ingress: { [kind]: { by } } };
        bridge = await startBridge({ config, forges: forgesOf(kind) });
      });
      after(() => bridge.close());

      for (const action of actions[kind]) {
        for (const [who, sender] of Object.entries(senders[kind])) {
          const asked = who === 'person';
          const planned = asked || needs === 'anyone';
          it(`${action} by ${who} is ${planned ? 'planned' : 'skipped'}`, async () => {
            const reply = await deliver(bridge, kind, action, sender);
            const listed = (await bridge.get(`/v1/events/${reply.event_id}`)).body as EventView;
            if (!planned) {
              expect(reply.state).to.equal('skipped');
              expect(listed.reason!.code).to.equal(who === 'nobody' ? 'actor_unknown' : 'actor_is_bot');
              expect(listed.reason!.message).to.contain(
                `ingress.${kind}.by of config/bridge.json is "${needs}"`,
              );
              expect(await processed(bridge)).to.equal(null);
              return;
            }
            expect(reply.state).to.equal('pending');
            expect((await processed(bridge))!.state).to.equal('done');
            const { event_actor, keep } = bridge.planning.calls.at(-1)!;
            expect({ event_actor, keep }).to.deep.equal(
              asked
                ? { event_actor: { login: 'ada', needs }, keep: undefined }
                : { event_actor: undefined, keep: true },
            );
          });
        }
      }
    });
  }
}

describe('an event whose account core-agentd refuses', () => {
  for (const code of ['actor_lacks_right', 'actor_right_unknown']) {
    it(`is skipped with ${code}, which its list shows`, async () => {
      const planning = toyPlanning();
      planning.answer = async () => failure({ code, status: 422, retryable: false });
      const bridge = await startBridge({ planning, forges: forgesOf('github') });
      try {
        await deliver(bridge, 'github', 'edited', senders.github.person);
        expect(await processed(bridge)).to.deep.include({
          state: 'skipped',
          reason: { code, message: `said ${code}` },
        });
        const { events } = (await bridge.get('/v1/events?state=skipped')).body as { events: EventView[] };
        expect(events.map(({ reason }) => reason!.code)).to.deep.equal([code]);
      } finally {
        await bridge.close();
      }
    });
  }

  it('hides no event of another account with the same content', async () => {
    const bridge = await startBridge({ forges: forgesOf('github') });
    try {
      const issue = { number: 999 };
      const state = async (login: string, action = 'labeled') =>
        (await deliver(bridge, 'github', action, { login, type: 'User' }, issue)).state;
      expect([await state('eve'), await state('ada'), await state('ada', 'edited')]).to.deep.equal([
        'pending',
        'pending',
        'skipped',
      ]);
    } finally {
      await bridge.close();
    }
  });
});

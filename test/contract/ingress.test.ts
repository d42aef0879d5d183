import { createHmac } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { IngressReply } from '#kit/contracts/bridge/events.ts';
import type { Health } from '#kit/contracts/health.ts';
import type { Problem } from '#kit/contracts/problem.ts';
import { resolveFolders } from '#kit/folders.ts';
import { createToken } from '#kit/tokens/tokens.ts';
import { type RunningBridge, secrets, startBridge } from '../fixtures/bridge/bridge-service.ts';
import { until } from '../fixtures/until.ts';
import { bodyBytes, type Delivery, type IngressBench, ingressContract } from './ingress.contract.ts';

const base = 'https://git.example.org';
const page = `${base}/demo/hello/issues/1`;

function hmac(secret: string, ...parts: (string | Buffer)[]): string {
  const made = createHmac('sha256', secret);
  for (const part of parts) made.update(part);
  return made.digest('hex');
}

function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

const dashboard: IngressBench = {
  path: '/v1/ingress/dashboard-issue',
  signatureHeader: 'x-core-signature',
  deliver: (id, change = {}) => signedAt(dashboardBody(id, change), nowInSeconds(), change.secret),
  eventId: (id) => `board-${id}`,
};

function dashboardBody(
  id: string,
  { title = 'A title', labels = [] }: { readonly title?: string; readonly labels?: readonly string[] },
): Buffer {
  return Buffer.from(
    JSON.stringify({
      event_id: `board-${id}`,
      kind: 'issue.status_changed',
      occurred_at: '2026-01-01T00:00:00Z',
      issue: { id: 7, title, status: 'todo', labels, html_url: page },
      actor: 'mira',
    }),
  );
}

function signedAt(
  body: Buffer,
  seconds: number | string,
  secret: string = secrets['dashboard-webhook'],
): Delivery {
  const signature = `sha256=${hmac(secret, `${seconds}.`, body)}`;
  return { body, headers: { 'x-core-timestamp': String(seconds), 'x-core-signature': signature } };
}

interface ForgeChange {
  readonly title?: string;
  readonly labels?: readonly string[];
  readonly action?: string;
  readonly pull_request?: unknown;
  readonly html_url?: string;
}

function forgeBody({ title = 'A title', labels = [], action = 'opened', ...more }: ForgeChange): Buffer {
  const { html_url = page, ...issue } = more;
  return Buffer.from(
    JSON.stringify({
      action,
      issue: {
        ...{ number: 1, title, html_url, state: 'open', updated_at: '2026-01-01T00:00:00Z' },
        labels: labels.map((name) => ({ name })),
        ...issue,
      },
      repository: { name: 'hello', owner: { login: 'demo' }, private: false },
      sender: { login: 'mira' },
    }),
  );
}

const github: IngressBench = {
  path: '/v1/ingress/github',
  signatureHeader: 'x-hub-signature-256',
  deliver: (id, change = {}) => githubDelivery(id, forgeBody(change), change.secret),
  eventId: (id) => `github:${id}`,
};

function githubDelivery(
  id: string,
  body: Buffer,
  secret: string = secrets['github-webhook'],
  event = 'issues',
): Delivery {
  const signature = `sha256=${hmac(secret, body)}`;
  return {
    body,
    headers: { 'x-github-event': event, 'x-github-delivery': id, 'x-hub-signature-256': signature },
  };
}

const gitea: IngressBench = {
  path: '/v1/ingress/gitea',
  signatureHeader: 'x-gitea-signature',
  deliver(id, change = {}) {
    const body = forgeBody(change);
    const signature = hmac(change.secret ?? secrets['gitea-webhook'], body);
    return {
      body,
      headers: { 'x-gitea-event': 'issues', 'x-gitea-delivery': id, 'x-gitea-signature': signature },
    };
  },
  eventId: (id) => `gitea:${id}`,
};

describe('an event that comes in', () => {
  const kinds = {
    dashboard: ['local', dashboard],
    github: ['github', github],
    gitea: ['gitea', gitea],
  } as const;

  for (const [name, [kind, bench]] of Object.entries(kinds)) {
    describe(`from ${name}`, () => {
      let bridge: RunningBridge;

      before(async () => {
        const forge = { name: 'work', kind: kind === 'local' ? 'gitea' : kind, base_url: base };
        bridge = await startBridge({
          config: { body_bytes: bodyBytes },
          forges: { forges: [{ name: 'local', kind: 'local' }, forge] },
        });
      });
      after(() => bridge.close());

      ingressContract(() => bridge, bench);

      it('answers an unknown sender the same, whatever is wrong with the secret here', async () => {
        const file = join(bridge.home, 'config/secrets', `${name}-webhook`);
        const good = readFileSync(file, 'utf8');
        const delivery = bench.deliver('guess', { secret: 'x'.repeat(40) });
        const answer = async () => {
          const { status, body } = await bridge.post(bench.path, delivery.body, delivery.headers);
          const { request_id: _, instance: __, ...said } = body as Problem & Record<string, unknown>;
          return { status, said };
        };
        const health = async () => {
          const reply = await fetch(new URL('/healthz', bridge.url));
          return ((await reply.json()) as Health).checks.secrets!;
        };
        const wanted = await answer();
        expect(wanted.status).to.equal(401);
        expect((await health()).status).to.equal('ok');
        const contents = {
          short: 'hunter2',
          long: 'y'.repeat(4_097),
          empty: '',
          missing: null,
          mixed: `${good}hunter2`,
        };
        try {
          for (const [what, content] of Object.entries(contents)) {
            rmSync(file, { force: true });
            if (content !== null) writeFileSync(file, content);
            expect(await answer(), what).to.deep.equal(wanted);
            const status = content === null ? 'ok' : 'degraded';
            // The service keeps its health for a moment.
            await until(`the status ${status}`, async () => (await health()).status === status);
            const { detail } = await health();
            if (content !== null) expect(detail).to.include(`${name}-webhook`).and.include('16 to 4,096');
            expect(detail)
              .to.not.include(bridge.home)
              .and.not.match(/\b7\b|4,?097|hunter2/);
          }
        } finally {
          writeFileSync(file, good);
        }
        expect(JSON.stringify(wanted)).to.not.include(bridge.home);
      });

      if (name === 'dashboard') ownForm(() => bridge);
      if (name === 'github') webhooks(() => bridge);
    });
  }
});

function ownForm(bridge: () => RunningBridge): void {
  const { path } = dashboard;
  const answer = async ({ body, headers }: Delivery) => {
    const { status, body: problem } = await bridge().post(path, body, headers);
    return `${status} ${(problem as Problem).code}`;
  };

  it('is refused when it was signed too long ago, or too far ahead', async () => {
    const body = dashboardBody('late', { title: 'late' });
    for (const seconds of [nowInSeconds() - 330, nowInSeconds() + 330, 0])
      expect(await answer(signedAt(body, seconds))).to.equal('401 signature_expired');
    for (const seconds of ['', 'now', '1e9', '-5', '1'.repeat(13)])
      expect(await answer(signedAt(body, seconds))).to.equal('401 signature_missing');
    const { headers } = signedAt(body, nowInSeconds() - 1);
    const moved = { ...headers, 'x-core-timestamp': String(nowInSeconds()) };
    expect(await answer({ body, headers: moved })).to.equal('401 signature_invalid');
  });

  it('is refused with the place, the value and the rule where it breaks one', async () => {
    const good = JSON.parse(dashboardBody('rules', {}).toString());
    const broken: readonly (readonly [string, unknown])[] = [
      ['/event_id', { ...good, event_id: 'github:x' }],
      ['/event_id', { ...good, event_id: 'a\nb' }],
      ['/event_id', { ...good, event_id: 'x'.repeat(201) }],
      ['/kind', { ...good, kind: 'issue.deleted' }],
      ['/occurred_at', { ...good, occurred_at: 'yesterday' }],
      ['/issue', { ...good, issue: null }],
      ['/issue/title', { ...good, issue: { ...good.issue, title: 5 } }],
      ['/issue/forge/owner', withForge(good, { owner: '../..', repo: 'r', number: 1 })],
      ['/issue/forge/repo', withForge(good, { owner: 'o', repo: '--exec', number: 1 })],
      ['/issue/forge/number', withForge(good, { owner: 'o', repo: 'r', number: 0 })],
      ['', [good]],
    ];
    for (const [pointer, event] of broken) {
      const { status, body } = await bridge().post(path, event);
      expect(status, pointer).to.equal(400);
      const problem = body as Problem;
      expect(problem.code).to.equal('invalid_input');
      expect(problem.errors?.map((one) => one.pointer)).to.include(pointer);
    }
  });

  it('takes nothing else from an event, and names what it does not look at', async () => {
    const event = JSON.parse(dashboardBody('extra', { title: 'extra' }).toString());
    const { body } = await bridge().post(path, {
      ...event,
      branch: 'main',
      issue: { ...event.issue, path: '/etc', __proto__: { role: 'executor' } },
    });
    expect((body as IngressReply).unknown_members).to.deep.equal(['/issue/path', '/branch']);
  });

  it('is kept with the reason where nothing is to be planned', async () => {
    const event = JSON.parse(dashboardBody('skip', {}).toString());
    const cases = [
      ['target_missing', { html_url: null }],
      ['target_host_unknown', { html_url: 'https://board.example.org/1' }],
      ['role_does_not_plan', { role: 'executor' }],
    ] as const;
    for (const [index, [code, change]] of cases.entries()) {
      const skipped = { ...event, event_id: `skip-${index}`, issue: { ...event.issue, ...change } };
      const { status, body } = await bridge().post(path, skipped);
      expect(status).to.equal(202);
      expect(body as IngressReply).to.include({ state: 'skipped' });
      expect((body as IngressReply).reason?.code).to.equal(code);
    }
  });

  it('is refused with a token that may not plan', async () => {
    const folders = resolveFolders({ home: bridge().home }, {} as never);
    const { text } = createToken(folders, { name: 'reader', scopes: ['read'] });
    const { status, body } = await bridge().post(path, dashboardBody('y', {}), {
      authorization: `Bearer ${text}`,
    });
    expect([status, (body as Problem).code]).to.deep.equal([403, 'scope_missing']);
  });
}

function withForge(event: { issue: object }, forge: unknown): unknown {
  return { ...event, issue: { ...event.issue, forge } };
}

function webhooks(bridge: () => RunningBridge): void {
  const send = async ({ body, headers }: Delivery) =>
    (await bridge().post(github.path, body, headers)).body as IngressReply & Problem;
  const outcome = async (delivery: Delivery) => {
    const { state, reason, code } = await send(delivery);
    return code ?? `${state} ${reason?.code}`;
  };

  it('is the same event under another delivery id: nothing signs the id', async () => {
    const body = forgeBody({ title: 'replayed' });
    await send(githubDelivery('replay-1', body));
    expect(await send(githubDelivery('replay-2', body))).to.include({
      duplicate: true,
      event_id: 'github:replay-1',
    });
  });

  it('is planned once if a forge reports a new issue and each of its labels', async () => {
    const deliver = (id: string, action: string, labels: readonly string[] = ['bug', 'core:ops']) =>
      outcome(githubDelivery(id, forgeBody({ title: 'with labels', labels, action })));
    expect(await deliver('l1', 'opened')).to.equal('pending undefined');
    expect(await deliver('l2', 'labeled')).to.equal('skipped same_content');
    expect(await deliver('l3', 'labeled', ['core:ops', 'bug'])).to.equal('skipped same_content');
    expect(await deliver('l4', 'labeled', ['bug', 'core:ops', 'new'])).to.equal('pending undefined');
    expect(await deliver('l5', 'reopened', ['bug', 'core:ops', 'new'])).to.equal('pending undefined');
  });

  it('is answered and forgotten where it is no event of an issue that is planned', async () => {
    const ping = githubDelivery('p', Buffer.from('{"zen":"x"}'), undefined, 'ping');
    expect(await outcome(ping)).to.equal('ignored ping');
    const push = githubDelivery('p', Buffer.from('{"ref":"x"}'), undefined, 'push');
    expect(await outcome(push)).to.equal('ignored event_not_used');
    for (const action of ['closed', 'deleted', 'constructor', '__proto__'])
      expect(await outcome(githubDelivery('c', forgeBody({ action })))).to.equal('ignored action_not_used');
    const pull = forgeBody({ pull_request: { url: 'x' } });
    expect(await outcome(githubDelivery('c', pull))).to.equal('ignored issue_is_pull_request');
  });

  it('is ignored whatever its size if its kind is not used, and refused if an issue is too large', async () => {
    const large = Buffer.from(JSON.stringify({ ref: 'x'.repeat(200_000) }));
    for (const kind of ['push', 'workflow_run', '__proto__'])
      expect(await outcome(githubDelivery('big', large, undefined, kind))).to.equal('ignored event_not_used');
    expect(await outcome(githubDelivery('big', large))).to.equal('body_too_large');
  });

  it('names the setting of the forge if the webhook sends a form', async () => {
    const form = Buffer.from(`payload=${encodeURIComponent(forgeBody({ title: 'form' }).toString())}`);
    const answers = { [github.path]: 'Content type: application/json', [gitea.path]: 'POST Content Type' };
    for (const [path, setting] of Object.entries(answers)) {
      const { headers } = githubDelivery('form', form);
      const type = { 'content-type': 'application/x-www-form-urlencoded' };
      const { status, body } = await bridge().post(path, form, { ...headers, ...type });
      expect(status).to.equal(415);
      expect(JSON.stringify(body)).to.include(setting);
    }
  });

  it('is refused without an id that names the delivery', async () => {
    for (const id of ['', 'a/b', 'x'.repeat(101)])
      expect(await outcome(githubDelivery(id, forgeBody({ title: id })))).to.equal('delivery_id_invalid');
  });

  it('is of the issue that both its names and its address say, or of none', async () => {
    const elsewhere = forgeBody({ html_url: `${base}/demo/other/issues/1` });
    expect(await outcome(githubDelivery('t1', elsewhere))).to.equal('skipped target_ambiguous');
    const foreign = forgeBody({ html_url: 'https://github.com/demo/hello/issues/1' });
    expect(await outcome(githubDelivery('t2', foreign))).to.equal('skipped target_host_unknown');
  });
}

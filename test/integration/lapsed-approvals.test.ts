import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { readSettings } from '#kit/config/settings.ts';
import { RunDetail, RunList } from '#kit/contracts/run.ts';
import { environment } from '#kit/environment.ts';
import { createHttpClient, type HttpClient } from '#kit/http/client.ts';
import { silentLogger } from '#kit/log.ts';
import { Redactor } from '#kit/redaction/redactor.ts';
import { createToken, openTokens, revokeToken, rotateToken, type Scope } from '#kit/tokens/tokens.ts';
import type { Person } from '../../services/agentd/agent.ts';
import { runReport } from '../../services/agentd/mcp/run-report.ts';
import { openNotifications } from '../../services/agentd/notifications/compose.ts';
import { readPolicy } from '../../services/agentd/policy.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { ApprovalSignatures, signersFile } from '../../services/agentd/signatures/approval-signatures.ts';
import { signDecisions } from '../../services/agentd/signatures/sign-decisions.ts';
import { approvalText } from '../../services/terminal/layout/payload.ts';
import { needsApproval } from '../../services/terminal/state/state.ts';
import { type Receiver, startReceiver } from '../fixtures/notifications/receiver.ts';
import { makeReviewWorld, type ReviewWorld } from '../fixtures/review/review-world.ts';
import { SignedIn } from '../fixtures/review/signed-in.ts';
import { runStoreIn } from '../fixtures/runs/run-store-in.ts';
import { allowSigners, newSigner, type Signer } from '../fixtures/signing/signer.ts';
import { helloFiles, quiet, ref } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

const everything: Scope[] = ['read', 'plan', 'approve', 'execute', 'admin'];
const day = 86_400_000;

describeWith(['git', 'ssh'], 'an approval that no longer counts', function () {
  this.timeout(600_000);
  let at: ReviewWorld;
  let client: HttpClient;
  let page: SignedIn;
  let signer: Signer;
  let receiver: Receiver;
  let texts: Record<string, string>;
  let notify: () => Promise<string>;
  let end: () => Promise<void>;

  before(() => {
    signer = newSigner();
  });

  beforeEach(async () => {
    // Leaves out .core.json, because its command would make the patch critical.
    at = await makeReviewWorld({ 'src/greet.js': helloFiles['src/greet.js'] as string });
    at.policy({});
    texts = {};
    for (const name of ['kim', 'jo']) texts[name] = createToken(folders(), { name, scopes: everything }).text;
    allowSigners(signers(), [{ principal: 'kim', signer }]);
    const { text } = createToken(folders(), { name: 'reader', scopes: everything });
    client = createHttpClient({ baseUrl: at.url, token: text });
    page = await SignedIn.by(await at.link('looker', { scopes: everything }));
    receiver = await startReceiver();
    ({ notify, end } = notifications());
    await notify();
  });

  afterEach(async () => {
    await end?.();
    await receiver?.close();
    await client?.close();
    await at?.close();
  });

  const config = (name: string) => join(at.world.home, 'config', name);
  const folders = () => ({ tokens: config('tokens') });
  const signers = () => config('allowed_signers');

  const who = (name: string): Person => {
    const { name: _, ...identity } = openTokens(folders()).authenticate(texts[name]!)!;
    return { name, ...identity };
  };

  /** Runs the notifier of this home. The returned function gives the notices since the last call. */
  function notifications() {
    const home = { state: join(at.world.home, 'state'), config: config('.'), secrets: config('secrets') };
    writeFileSync(join(home.secrets, 'hook'), 'a-secret-for-signatures-of-webhooks');
    const webhook = { url: `${receiver.url}/hook`, secret_file: 'hook' };
    writeFileSync(
      config('notifications.json'),
      JSON.stringify({ people: { jo: { channels: { webhook } }, kim: { channels: { webhook } } } }),
    );
    const store = runStoreIn(home.state);
    // The clock advances a minute between two looks, so that each look judges approvals again.
    let now = Date.now() - 60_001;
    const notifier = openNotifications({
      ...{
        folders: home,
        store,
        redactor: new Redactor(),
        settings: readSettings({ folders: { ...home }, environment }),
      },
      now: () => now,
      approvals: async () => {
        const policy = readPolicy(home);
        const signatures = new ApprovalSignatures(policy.approval, signersFile(home));
        return { forges: ['local'], policy, tokens: openTokens(folders()).list(), signatures };
      },
    }).notifier(silentLogger);
    return {
      async notify() {
        now += 60_001;
        receiver.received.splice(0);
        await notifier.tick();
        await notifier.settled();
        return receiver.received.map(({ body }) => body).join('\n');
      },
      async end() {
        await notifier.close();
        store.close();
      },
    };
  }

  async function approve({ run_id, actions }: Run, name: string, signed = false, days = 7): Promise<void> {
    const by = who(name);
    const seen = actions
      .filter(({ definition }) => definition.gate === 'build')
      .map(({ definition: { action_id, digest } }) => ({ action_id, digest }));
    const request = { run_id, decision: 'approve', reason: null, claimed_approver: null, by } as const;
    const { key } = signer;
    const decided = signed
      ? signDecisions({ run_id, decision: 'approve', actions: seen, days, key, approver: name })
      : seen;
    await at.world.agent.decide({ ...request, actions: decided });
  }

  /** Text of each view about the build gate. */
  async function views(run: Run): Promise<Record<string, string>> {
    const command = async (...args: string[]) => {
      const { code, stdout, stderr } = await at.world.command(args);
      expect(code, stderr).to.equal(0);
      return stdout;
    };
    const id = run.run_id;
    const detail = await client.get(`/v1/runs/${id}`, RunDetail);
    const [action] = detail.actions as [RunDetail['actions'][number]];
    const listed = JSON.parse(await command('runs', '--json')).runs[0];
    const inbox = JSON.parse(await command('inbox', '--all', '--json')).items[0];
    const marked = (waits: boolean, text: string) => `${waits ? 'NEEDS APPROVAL' : 'COUNTS'} ${text}`;
    const shown = JSON.parse(await command('show', id, '--json'));
    const show = await command('show', id);
    const actions = await command('actions', id);
    const one = await command('actions', id, '1');
    const html = await (await page.get(`/runs/${id}`)).text();
    const report = runReport(detail);
    const [reported] = report.actions as [Record<string, unknown>];
    const why = JSON.stringify(reported.approval_problem ?? null);
    const again = `approve ${id.slice(0, 17)} --gate build`;
    return {
      show: marked(show.includes('(lapsed)') && show.includes(again), show),
      'show --json': marked(
        shown.waits_for === 'build' && shown.actions[0].approval_lapsed === true,
        JSON.stringify(shown.actions[0].approval_problem),
      ),
      actions: marked(actions.includes('lapsed') && actions.includes(again), actions),
      'one action': marked(/^ *approval +lapsed; (?!.*expires)/m.test(one), one),
      runs: marked(listed.waits_for === 'build' && listed.waiting === detail.actions.length, why),
      inbox: marked(inbox.kind === 'lapsed', inbox.text),
      HTTP: marked(detail.waits_for === 'build', why),
      'terminal interface': marked(needsApproval(action), approvalText(action)),
      MCP: marked(report.waits_for === 'build' && String(report.next).includes('--gate build'), why),
      'review page': marked(
        html.includes('approval lapsed') &&
          /Approve again|--sign/.test(html) &&
          !html.includes('data-execute'),
        html.replaceAll('&#39;', "'"),
      ),
    };
  }

  const twoPeople = { name: 'two people', gates: ['build'], approvers: 2 };
  const standing = {
    name: 'small builds',
    author: 'kim',
    repositories: ['demo/*'],
    forges: ['local'],
    risk_at_most: 100,
    expires_at: new Date(Date.now() + day).toISOString(),
    untrusted_influence: true,
  };

  interface Case {
    /** Content of policy.json when the run is planned and approved. */
    readonly policy?: object;
    /** People who approve; none if a standing approval does. */
    readonly by?: readonly string[];
    readonly signed?: boolean;
    /** Days until a signed approval ends; default 7. */
    readonly days?: number;
    readonly lapse: () => unknown;
    /** Reason that every view shows; null if the approval still counts. */
    readonly why: RegExp | null;
    /** Makes it count again, without a decision. */
    readonly mend?: () => void;
    /** People who approve again. */
    readonly again?: readonly string[];
    readonly signedAgain?: boolean;
  }

  const scopesOf = (name: string, scopes: readonly Scope[]) => {
    const file = join(config('tokens'), 'registry.json');
    const registry = readFileSync(file, 'utf8');
    const parsed = JSON.parse(registry);
    const all = Array.isArray(parsed) ? parsed : parsed.tokens;
    all.find((one: { name: string }) => one.name === name).scopes = scopes;
    writeFileSync(file, JSON.stringify(parsed));
  };

  const cases: Readonly<Record<string, Case>> = {
    'its token was revoked': {
      lapse: () => revokeToken(folders(), 'kim'),
      why: /the token 'kim' was revoked/,
    },
    'its token was rotated, and it counts': {
      lapse: () => rotateToken(folders(), { name: 'kim' }),
      why: null,
    },
    'its token was made again': {
      lapse() {
        revokeToken(folders(), 'kim');
        texts.kim = createToken(folders(), { name: 'kim', scopes: everything }).text;
      },
      why: /the token 'kim' was revoked/,
      again: ['kim'],
    },
    'its token lost a scope': { lapse: () => scopesOf('kim', ['read']), why: /without approve/ },
    'a rule was added': {
      policy: { people: { kim: {}, jo: {} } },
      lapse: () => at.policy({ people: { kim: {}, jo: {} }, approval: { rules: [twoPeople] } }),
      why: /'two people' asks for/,
      again: ['jo'],
    },
    'one of two was revoked': {
      policy: { people: { kim: {}, jo: {}, looker: {} }, approval: { rules: [twoPeople] } },
      by: ['kim', 'jo'],
      lapse() {
        revokeToken(folders(), 'kim');
        texts.kim = createToken(folders(), { name: 'kim', scopes: everything }).text;
      },
      why: /1 of 2: .*'kim' was revoked/,
      again: ['kim'],
    },
    'people changed': {
      policy: { people: { kim: {}, jo: {} }, approval: { rules: [twoPeople] } },
      by: ['kim', 'jo'],
      lapse: () =>
        at.policy({ people: { kim: {}, joanna: { tokens: ['jo'] } }, approval: { rules: [twoPeople] } }),
      why: /people of policy.json changed since/,
      again: ['jo'],
    },
    'a standing approval was removed': {
      policy: { approval: { standing: [standing] } },
      by: [],
      lapse: () => at.policy({}),
      why: /policy.json has none of that name now/,
    },
    'a standing approval was changed': {
      policy: { approval: { standing: [standing] } },
      by: [],
      lapse: () => at.policy({ approval: { standing: [{ ...standing, risk_at_most: 99 }] } }),
      why: /in policy.json now, and was/,
    },
    'a signature is required': {
      lapse: () => at.policy({ approval: { require_signature: true } }),
      why: /sign/,
      again: ['kim'],
      signedAgain: true,
    },
    'its key was removed': {
      policy: { approval: { require_signature: true } },
      signed: true,
      lapse: () => writeFileSync(signers(), ''),
      why: /allowed_signers|signature/,
      mend: () => allowSigners(signers(), [{ principal: 'kim', signer }]),
      again: [],
    },
    'its key was replaced, and a rule counts people': {
      policy: {
        people: { kim: {}, jo: {} },
        approval: { rules: [{ name: 'signed', gates: ['build'], require_signature: true }] },
      },
      signed: true,
      lapse() {
        signer = newSigner();
        allowSigners(signers(), [{ principal: 'kim', signer }]);
      },
      why: /0 of 1: .*signature/,
      again: ['kim'],
      signedAgain: true,
    },
    'it expired': {
      signed: true,
      days: 3 / 86_400,
      lapse: () => new Promise((resolve) => setTimeout(resolve, 3_100)),
      why: /expired/,
    },
  };

  for (const [name, one] of Object.entries(cases))
    it(`is shown as such by every view if ${name}`, async () => {
      at.policy(one.policy ?? {});
      const run = await at.planned('Look.', undefined, who('jo'));
      for (const by of one.by ?? ['kim']) await approve(run, by, one.signed, one.days);
      if (one.days === undefined)
        for (const [view, text] of Object.entries(await views(run)))
          expect(text, `${view} before`).to.match(/^COUNTS/);
      // The clock of the notifier is ahead of the other clocks, by a minute for each look.
      if (one.days === undefined) await notify();
      await one.lapse();
      const lapsed = await views(run);
      const news = await notify();
      if (one.why === null) {
        for (const [view, text] of Object.entries(lapsed)) expect(text, view).to.match(/^COUNTS/);
        expect(news).to.equal('');
        return;
      }
      for (const [view, text] of Object.entries(lapsed)) {
        const line = text.replaceAll(/\s+/g, ' ');
        expect(line, view).to.match(/^NEEDS APPROVAL/);
        expect(line, view).to.match(one.why);
      }
      expect(news).to.contain('waits_for_you').and.to.match(one.why);
      one.mend?.();
      for (const by of one.again ?? ['jo']) await approve(run, by, one.signedAgain);
      for (const [view, text] of Object.entries(await views(run)))
        expect(text, `${view} after`).to.match(/^COUNTS/);
    });

  it('is shown as unknown if policy.json cannot be read, and counts again once it can', async () => {
    const run = await at.planned('Look.', undefined, who('jo'));
    await approve(run, 'kim');
    const id = run.run_id;
    const unknown = /whether the approval still counts is unknown: /;
    const policy = readFileSync(config('policy.json'));
    writeFileSync(config('policy.json'), '{"approval":{"require_signature":"perhaps"}}');
    const [action] = (await client.get(`/v1/runs/${id}`, RunDetail)).actions as [
      RunDetail['actions'][number],
    ];
    expect(action.approval_problem).to.have.property('code', 'approvals_unread');
    expect(action.approval_lapsed).to.equal(undefined);
    expect(needsApproval(action)).to.equal(false);
    expect(approvalText(action)).to.match(unknown);
    const html = await (await page.get(`/runs/${id}`)).text();
    expect(html).to.contain('approval unknown').and.not.to.contain('data-execute');
    expect(html.replaceAll('&#39;', "'")).to.match(unknown);
    const { problems, runs } = await client.get('/v1/runs', RunList);
    expect(problems.join()).to.match(unknown);
    expect(runs).to.have.length(1);
    for (const command of [
      ['show', id],
      ['actions', id],
    ]) {
      const { code, stdout, stderr } = await at.world.command(command);
      expect(code, stderr).to.equal(0);
      expect(stdout).to.contain('unknown').and.not.to.contain('execute-approved');
      expect(stdout.replaceAll(/\s+/g, ' ')).to.match(unknown);
    }
    writeFileSync(config('policy.json'), policy);
    for (const [view, text] of Object.entries(await views(run)))
      expect(text, `${view} after`).to.match(/^COUNTS/);
  });

  it('makes `approve` select its run of the issue, and `execute-approved` another run', async () => {
    const { agent } = at.world;
    const lapses = await at.planned('Look.', undefined, who('jo'));
    const number = lapses.request.number!;
    const counts = await agent.planIssue({ ...ref, number, keep: true, by: who('jo') }, quiet);
    for (const [run, name] of [
      [lapses, 'kim'],
      [counts, 'jo'],
    ] as const)
      await agent.decide({
        ...{ run_id: run.run_id, decision: 'approve', reason: null, claimed_approver: null, by: who(name) },
        actions: run.actions.map(({ definition: { action_id, digest } }) => ({ action_id, digest })),
      });
    revokeToken(folders(), 'kim');
    const found = (need: 'decide' | 'execute') => agent.runId(`${number}`, at.world.home, { need });
    expect(await found('decide')).to.equal(lapses.run_id);
    expect(await found('execute')).to.equal(counts.run_id);
  });
});

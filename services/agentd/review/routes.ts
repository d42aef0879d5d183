import * as t from 'io-ts';
import { approvalWord, criticalOf, isApprovalWord } from '#kit/contracts/approval-word.ts';
import { optional } from '#kit/decode.ts';
import { CoreError, InvalidInput, messageOf, NotFound } from '#kit/errors.ts';
import type { Reply, Route } from '#kit/http/route.ts';
import { ComparedText, textMasked, withoutSecrets } from '#kit/redaction/masked-text.ts';
import { ApprovalState } from '../action.ts';
import { artifactReferences } from '../runs/log/artifacts.ts';
import type { JudgedAction, JudgedRun } from '../runs/run.ts';
import { whatIsOpen } from '../runs/what-is-open.ts';
import { assetRoutes } from './assets.ts';
import { batchRoutes } from './batch.ts';
import { Changes, changeRoutes, draftPart, viewParameter } from './change.ts';
import { csrfField } from './csrf.ts';
import { graphPart } from './graph-picture.ts';
import { type Html, html, nothing } from './html.ts';
import { inboxRoutes } from './inbox-page.ts';
import { issueThread } from './issue-thread.ts';
import type { Notice } from './layout.ts';
import { liveRoutes } from './live-events.ts';
import { providerRoutes } from './oidc/routes.ts';
import { formRoute, goTo, htmlReply, pageRoute, type Visit } from './page.ts';
import { planRoutes } from './plan-form.ts';
import { recoveryPart } from './recovery.ts';
import type { ReviewParts } from './review-parts.ts';
import { reviewPage, runLayout, type Tab, tabs } from './run-page.ts';
import { listParameters, runsPage } from './runs-list.ts';
import { signInRoutes } from './sign-in.ts';
import { timelinePart } from './timeline.ts';
import { transcriptPart } from './transcript.ts';
import { shownText } from './visible-text.ts';

/** The review page: the same use cases as the interface for programs, for people with a browser. */
export function reviewRoutes(parts: ReviewParts): Route[] {
  const changes = new Changes(parts.agent);
  return [
    ...assetRoutes(),
    ...signInRoutes(parts),
    ...providerRoutes(parts),
    ...planRoutes(parts),
    ...batchRoutes(parts),
    ...inboxRoutes(parts),
    ...liveRoutes(parts),
    pageRoute(parts, { path: '/', summary: 'The runs', query: listParameters }, async (visit) =>
      htmlReply(await runsPage(parts.agent, visit)),
    ),
    ...readingRoutes(parts, changes),
    ...changeRoutes(parts, changes),
    ...changingRoutes(parts, changes),
  ];
}

function readingRoutes(parts: ReviewParts, diffs: Changes): Route[] {
  const { agent } = parts;
  const contents: Readonly<Record<Exclude<Tab, 'review'>, (run: JudgedRun) => Html | Promise<Html>>> = {
    issue: (run) => issueThread(agent, run),
    transcript: (run) => transcriptPart(agent, run),
    timeline: (run) => timelinePart(agent, run),
    graph: graphPart,
    recovery: (run) => recoveryPart(agent, run),
  };
  return [
    aboutRun(
      '',
      'A run, as it is decided',
      async (visit, run) => reviewPage(parts, diffs, visit, run),
      viewParameter,
    ),
    ...Object.entries(contents).map(([tab, content]) =>
      aboutRun(tabs[tab as Tab].path, `A run: its ${tab}`, async (visit, run) =>
        runLayout(visit, run, tab as Tab, await content(run)),
      ),
    ),
    aboutRun('/change', 'The whole patch of a run', async (visit, run) =>
      runLayout(visit, run, null, wholePatch('The change', await agent.diff(run.run_id))),
    ),
    aboutRun(
      '/draft',
      'What a stopped agent left',
      async (visit, run) => runLayout(visit, run, null, await draftPart(parts, diffs, visit, run)),
      viewParameter,
    ),
    aboutRun('/draft/patch', 'The whole patch that a stopped agent left', async (visit, run) =>
      runLayout(visit, run, null, wholePatch('The draft', await agent.draft(run.run_id))),
    ),
    aboutRun('/undo', 'What an undo would take back', async (visit, run) =>
      runLayout(visit, run, null, undoPart(visit, run, await agent.undoPlan(run.run_id))),
    ),
    aboutRun('/logs/{digest}', 'A log of a validation', async (visit, run) => {
      const digest = visit.request.params.digest!;
      const named = (await agent.events(run.run_id, 0)).flatMap(artifactReferences);
      if (!named.some((reference) => reference.digest === digest))
        throw new NotFound(
          'artifact_not_found',
          `the record of run ${run.run_id} names no artifact ${digest}`,
        );
      const log = Buffer.from(await agent.artifact(run.run_id, digest)).toString('utf8');
      return runLayout(
        visit,
        run,
        null,
        html`<h2>Log</h2><pre class="text" tabindex="0">${shownText(log)}</pre>`,
      );
    }),
  ];

  function aboutRun(
    path: string,
    summary: string,
    page: (visit: Visit, run: JudgedRun) => Promise<Html>,
    query: typeof viewParameter | Record<never, never> = {},
  ): Route {
    return pageRoute(parts, { path: `/runs/{run_id}${path}`, summary, query }, async (visit) =>
      htmlReply(await page(visit, await agent.run(visit.request.params.run_id!))),
    );
  }
}

/** As text, without taking it apart. */
function wholePatch(title: string, patch: Uint8Array): Html {
  return html`<h2>${title}</h2><pre class="text" tabindex="0" aria-label="${title}">${shownText(Buffer.from(patch).toString('utf8'))}</pre>`;
}

function undoPart(
  { csrf, by }: Visit,
  run: JudgedRun,
  steps: readonly { readonly kind: string; readonly effect: string; readonly message: string }[],
): Html {
  const may = by.scopes.includes('execute') && steps.length > 0;
  return html`<h2>Undo</h2>
${
  steps.length === 0
    ? html`<p class="empty">There is nothing to take back.</p>`
    : html`<p>This would be taken back, in this order:</p>
<ol class="steps">${steps.map(({ kind, effect, message }) => html`<li><strong>${effect}</strong> <code>${kind}</code> ${shownText(message)}</li>`)}</ol>`
}
${may ? html`<form method="post" action="/runs/${run.run_id}/undo" data-confirm>${csrfField(csrf)}<button class="danger" autofocus>Take it back</button></form>` : nothing}
<p><a href="/runs/${run.run_id}">Back to the run</a></p>`;
}

const fields = { csrf: ComparedText };
/** A field that may come several times. */
const Several = t.union([ComparedText, t.array(ComparedText)]);
const DecisionForm = t.strict({
  ...fields,
  decision: t.union([t.literal('approve'), t.literal('reject')]),
  /** Each action as it was on the page: its id, its digest and its approval, with a space between. */
  seen: Several,
  reason: optional(textMasked(t.string)),
  anyway: optional(t.literal('yes')),
  word: optional(ComparedText),
});
type DecisionForm = t.TypeOf<typeof DecisionForm>;

/** What changes a run. A conflict shows the run as it is now, with what is other than it was on the page. */
function changingRoutes(parts: ReviewParts, diffs: Changes): Route[] {
  const { agent, changes } = parts;
  return [
    aboutRun('decisions', 'Approve or reject actions', 'approve', DecisionForm, async ({ by }, body, run) => {
      const actions = seenActions(body);
      requireWord(run, body, actions);
      await changes.decide({
        run_id: run.run_id,
        decision: body.decision,
        actions,
        reason: body.reason?.trim() ? body.reason.replaceAll('\r\n', '\n').trim() : null,
        claimed_approver: null,
        anyway: body.anyway === 'yes',
        by,
      });
      return `#${placeAfter(run, actions)}`;
    }),
    aboutRun(
      'execute',
      'Execute what is approved',
      'execute',
      t.strict({ ...fields, checkout: optional(withoutSecrets(t.string)) }),
      async ({ by }, body, run) => {
        const checkout = body.checkout === '' ? null : body.checkout;
        await changes.execute(run, { checkout, actions: null, dry_run: false, by });
        return `#${toWatch(run)?.definition.action_id ?? 'page'}`;
      },
    ),
    aboutRun('resume', 'Go on where it was cut off', 'plan', t.strict(fields), async ({ by }, _, run) => {
      await changes.resume(run.run_id, by);
      return '';
    }),
    aboutRun(
      'undo',
      'Take back what can be taken back',
      'execute',
      t.strict(fields),
      async ({ by }, _, run) => {
        await changes.undo(run.run_id, by);
        return '';
      },
    ),
    aboutRun(
      'cancel',
      'Stop a run',
      'plan',
      t.strict({ ...fields, reason: optional(textMasked(t.string)) }),
      async ({ by }, { reason = '' }, run) => {
        await changes.cancel(run.run_id, reason.trim() === '' ? null : reason.trim(), by);
        return '';
      },
    ),
  ];

  /** @param change gives the place on the page that is shown then */
  function aboutRun<B extends { readonly csrf: string }>(
    verb: string,
    summary: string,
    scope: 'plan' | 'approve' | 'execute',
    body: t.Type<B, unknown, unknown>,
    change: (visit: Visit<B>, body: B, run: JudgedRun) => Promise<string>,
  ): Route {
    const path = `/runs/{run_id}/${verb}`;
    return formRoute(parts, { path, summary, scope, body }, async (visit): Promise<Reply> => {
      const run = await agent.run(visit.request.params.run_id!);
      try {
        return goTo(`/runs/${run.run_id}${await change(visit, visit.request.body, run)}`);
      } catch (error) {
        if (!(error instanceof CoreError) || error.status >= 500 || error.status === 404) throw error;
        const now = await agent.run(run.run_id);
        return htmlReply(await reviewPage(parts, diffs, visit, now, refusal(error)), error.status);
      }
    });
  }
}

/** The action that was decided; where these are several of a gate, what follows the gate. */
function placeAfter(run: JudgedRun, actions: readonly { readonly action_id: string }[]): string {
  const ids = new Set(actions.map(({ action_id }) => action_id));
  const decided = run.actions.filter(({ definition }) => ids.has(definition.action_id));
  const gates = new Set(decided.map(({ definition }) => definition.gate));
  return decided.length > 1 && gates.size === 1 ? `gate-${[...gates][0]}-end` : actions[0]!.action_id;
}

/** What takes longest of the actions that an execution begins: a validation, else the first. */
function toWatch(run: JudgedRun): JudgedAction | undefined {
  const { ready } = whatIsOpen(run, new Date());
  return ready.find(({ definition }) => definition.kind === 'run_validation') ?? ready[0];
}

function refusal(error: CoreError): Notice {
  const stale = ['decision_changed', 'digest_mismatch', 'action_started'].includes(error.code);
  return {
    tone: 'bad',
    text: stale
      ? `Nothing was recorded, the run has changed: ${messageOf(error)}`
      : `Nothing was changed: ${messageOf(error)}`,
    ...(error.hint === undefined || stale ? {} : { hint: error.hint }),
  };
}

function seenActions({ seen }: DecisionForm) {
  return [seen].flat().map((text) => {
    const [action_id = '', digest = '', approval = ''] = text.split(' ');
    if (!/^[0-9a-f]{64}$/.test(digest) || !ApprovalState.is(approval))
      throw new InvalidInput('invalid_input', 'the form does not say which action it is about');
    return { action_id, digest, seen_approval: approval };
  });
}

/** @throws InvalidInput (`word_missing`) */
function requireWord(
  run: JudgedRun,
  { decision, word = '' }: DecisionForm,
  actions: readonly { readonly action_id: string }[],
): void {
  const seen = run.actions.filter(({ definition }) =>
    actions.some(({ action_id }) => action_id === definition.action_id),
  );
  const [critical] = criticalOf(seen.map(({ definition }) => definition));
  if (decision === 'reject' || critical === undefined || isApprovalWord(word)) return;
  const { ordinal, kind } = critical;
  throw new InvalidInput(
    'word_missing',
    `${ordinal} ${kind} is of critical risk: type ${approvalWord} to approve it`,
  );
}

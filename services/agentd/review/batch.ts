import * as t from 'io-ts';
import { patchAuthorText } from '#kit/contracts/patch-author.ts';
import { gates } from '#kit/contracts/vocabulary.ts';
import { oneOf, optional } from '#kit/decode.ts';
import { CoreError, InvalidInput, messageOf } from '#kit/errors.ts';
import { problemOf } from '#kit/http/problem.ts';
import type { Route } from '#kit/http/route.ts';
import { ComparedText, textMasked } from '#kit/redaction/masked-text.ts';
import { subjectOf } from '#kit/repository-name.ts';
import { ApprovalState } from '../action.ts';
import type { DecisionRequest } from '../agent.ts';
import { isOpen, type JudgedAction, type JudgedRun } from '../runs/run.ts';
import { needsDecision } from '../runs/what-is-open.ts';
import { agreementOfGate } from './agreement.ts';
import { badge, riskBadge, statusBadge } from './badges.ts';
import { csrfField } from './csrf.ts';
import { seenAction } from './decisions.ts';
import { type Html, html, nothing } from './html.ts';
import { layout, notice } from './layout.ts';
import { formRoute, htmlReply, type Visit } from './page.ts';
import type { ReviewParts } from './review-parts.ts';
import { whyOver } from './run-page.ts';
import { runsPage } from './runs-list.ts';
import { mustBeSigned } from './signing.ts';
import { plainLine, shownLine } from './visible-text.ts';

/**
 * Several runs decided in one go: the same gate of each is approved or rejected. Every action is listed with its risk before, and goes
 * by its digest: a run in which one of them has changed keeps all of its decisions, and the others are decided. What is of critical
 * risk, and what must be signed, is decided on the page of its run alone.
 */

const Several = t.union([ComparedText, t.array(ComparedText)]);
const ChosenForm = t.strict({ csrf: ComparedText, run: optional(Several) });
const BatchForm = t.strict({
  csrf: ComparedText,
  decision: oneOf(['approve', 'reject']),
  gate: oneOf(gates),
  /** Each action as it was on the page: its run, its id, its digest and its approval, with a space between. */
  seen: Several,
  reason: optional(textMasked(t.string)),
});
type BatchForm = t.TypeOf<typeof BatchForm>;

const maxRuns = 50;

export function batchRoutes(parts: ReviewParts): Route[] {
  return [
    formRoute(
      parts,
      { path: '/batch/look', summary: 'Actions of several runs', scope: 'approve', body: ChosenForm },
      async (visit) => {
        const ids = [...new Set([visit.request.body.run ?? []].flat())];
        if (ids.length === 0 || ids.length > maxRuns) {
          const text = `${ids.length} runs are selected: select 1 to ${maxRuns} in the list`;
          return htmlReply(await runsPage(parts.agent, visit, { tone: 'bad', text }), 400);
        }
        const runs = await Promise.all(ids.map((id) => parts.agent.run(id)));
        const isRequired = await parts.agent.requiresSignature();
        return htmlReply(lookPage(visit, runs, isRequired));
      },
    ),
    formRoute(
      parts,
      { path: '/batch', summary: 'Decide about several runs', scope: 'approve', body: BatchForm },
      async (visit) => {
        const results: Result[] = [];
        for (const [run_id, actions] of seenByRun(visit.request.body))
          results.push(await decided(parts, visit, run_id, actions));
        return htmlReply(
          resultPage(visit, results),
          results.some(({ refused }) => refused !== null) ? 409 : 200,
        );
      },
    ),
  ];
}

type Gate = (typeof gates)[number];

/** What of a gate can be decided in a batch, and why the rest cannot. */
function sorted(run: JudgedRun, gate: Gate, isRequired: boolean) {
  const now = new Date();
  const over = whyOver(run);
  const waiting =
    over === null && run.plan !== null
      ? run.actions.filter(
          (action) => action.definition.gate === gate && isOpen(action) && needsDecision(action, now),
        )
      : [];
  const whyNot = (action: JudgedAction): string | null =>
    action.definition.risk === 'critical'
      ? 'critical: decide it on the page of the run'
      : mustBeSigned([action], { isRequired, home: undefined })
        ? 'must be signed: see the page of the run'
        : null;
  return waiting.map((action) => ({ action, why: whyNot(action) }));
}

function lookPage(visit: Visit, runs: readonly JudgedRun[], isRequired: boolean): Html {
  const parts = gates.map((gate) => {
    const found = runs
      .map((run) => ({ run, actions: sorted(run, gate, isRequired) }))
      .filter(({ actions }) => actions.length > 0);
    return found.length === 0 ? nothing : gatePart(visit, gate, found);
  });
  return layout(visit, {
    title: 'Several runs',
    kind: 'other',
    body: html`<nav class="crumbs" aria-label="Place"><a href="/" data-back>Runs</a> <span aria-hidden="true">/</span> ${runs.length} selected</nav>
<h1>Several runs</h1>
<p>Each action below is decided as it stands here. Where one has changed by the time you press, its run keeps its decisions, and you see which.</p>
${parts.every((part) => part === nothing) ? html`<p class="empty">Nothing of these runs waits for a decision. <a href="/">Back to the runs</a></p>` : parts}`,
  });
}

type Found = readonly {
  readonly run: JudgedRun;
  readonly actions: readonly { readonly action: JudgedAction; readonly why: string | null }[];
}[];

function gatePart({ csrf }: Visit, gate: Gate, found: Found): Html {
  const seen = found.flatMap(({ run, actions }) =>
    actions.filter(({ why }) => why === null).map(({ action }) => `${run.run_id} ${seenAction(action)}`),
  );
  const hidden = html`${csrfField(csrf)}<input type="hidden" name="gate" value="${gate}">
${seen.map((text) => html`<input type="hidden" name="seen" value="${text}">`)}`;
  const what = `${seen.length} ${seen.length === 1 ? 'action' : 'actions'} of gate ${gate}`;
  return html`<section class="gate batch" aria-labelledby="gate-${gate}-title"><h2 id="gate-${gate}-title">Gate ${gate}</h2>
${found.map(({ run, actions }) => runPart(run, actions))}
${
  seen.length === 0
    ? nothing
    : html`<div class="decide"><form method="post" action="/batch" data-batch-approve>${hidden}<input type="hidden" name="decision" value="approve"><button class="primary">Approve ${what}</button></form>
<details class="reject" data-reject><summary>Reject ${what}…</summary><form method="post" action="/batch" class="stack">${hidden}<input type="hidden" name="decision" value="reject">
<label for="${gate}-reason">Why? The next plans of these issues learn from it.</label><textarea id="${gate}-reason" name="reason" rows="3" required></textarea>
<button class="danger">Reject ${what}</button></form></details></div>`
}</section>`;
}

function runPart(run: JudgedRun, actions: Found[number]['actions']): Html {
  const by = patchAuthorText(run.plan);
  return html`<article class="action"><header><h3><a href="/runs/${run.run_id}">${shownLine(subjectOf(run.request))} ${shownLine(run.issue?.title ?? run.plan?.title ?? '')}</a></h3><span class="grow"></span>${statusBadge(run.status)}</header>
${by === null ? nothing : html`<p class="faint">${shownLine(by)}</p>`}${agreementOfGate(actions.map(({ action }) => action))}
<ul class="batch-actions">${actions.map(
    ({
      action: {
        definition: { ordinal, kind, title, risk, risk_score, risk_reasons, digest },
      },
      why,
    }) => html`<li class="in-batch">${riskBadge(risk, risk_score)} <span class="ordinal">${ordinal}</span> <code>${kind}</code> ${shownLine(title)} <code class="digest" title="sha256 ${digest}">${digest.slice(0, 12)}</code>${why === null ? nothing : html` ${badge('warn', why)}`}
${risk_reasons.length === 0 ? nothing : html`<span class="faint">${shownLine(risk_reasons.join('; '))}</span>`}</li>`,
  )}</ul></article>`;
}

type Seen = DecisionRequest['actions'][number];

/** @throws InvalidInput */
function seenByRun({ seen }: BatchForm): Map<string, Seen[]> {
  const found = new Map<string, Seen[]>();
  for (const text of [seen].flat()) {
    const [run_id = '', action_id = '', digest = '', approval = ''] = text.split(' ');
    if (!/^[0-9a-f]{64}$/.test(digest) || !ApprovalState.is(approval))
      throw new InvalidInput('invalid_input', 'the form does not say which actions it is about');
    found.set(run_id, [...(found.get(run_id) ?? []), { action_id, digest, seen_approval: approval }]);
  }
  return found;
}

interface Result {
  readonly run_id: string;
  readonly name: string;
  readonly text: string;
  /** Why nothing was recorded; null where it was. */
  readonly refused: string | null;
}

async function decided(
  { agent, changes, redactor }: ReviewParts,
  { by, request: { body, id, log } }: Visit<BatchForm>,
  run_id: string,
  actions: readonly Seen[],
): Promise<Result> {
  const { decision, gate, reason = '' } = body;
  let name = run_id;
  let ordinals = '';
  try {
    const run = await agent.run(run_id);
    name = `${subjectOf(run.request)} ${run.issue?.title ?? ''}`.trim();
    const own = run.actions.filter(({ definition }) =>
      actions.some(({ action_id }) => action_id === definition.action_id),
    );
    ordinals = own.map(({ definition: { ordinal, kind } }) => `${ordinal} ${kind}`).join(', ');
    const other = own.find(
      ({ definition }) => definition.risk === 'critical' || definition.gate !== gate,
    )?.definition;
    if (other !== undefined)
      throw new InvalidInput(
        'invalid_input',
        `${other.ordinal} ${other.kind} is ${other.risk === 'critical' ? 'of critical risk' : `of gate ${other.gate}`}: it is decided on the page of its run`,
      );
    await changes.decide({
      run_id,
      decision,
      actions,
      reason: reason.trim() === '' ? null : reason.replaceAll('\r\n', '\n').trim(),
      claimed_approver: null,
      by,
    });
    return {
      run_id,
      name,
      text: `${decision === 'approve' ? 'approved' : 'rejected'} ${ordinals}`,
      refused: null,
    };
  } catch (error) {
    // What was decided about other runs is shown also where this one failed inside.
    const { detail } = problemOf(error, { path: '', id }, redactor);
    if (!(error instanceof CoreError)) log.error('a decision failed', { run_id, error });
    return { run_id, name, text: ordinals, refused: detail ?? messageOf(error) };
  }
}

function resultPage(visit: Visit<BatchForm>, results: readonly Result[]): Html {
  const refused = results.filter((result) => result.refused !== null);
  const done = results.length - refused.length;
  return layout(visit, {
    title: 'Several runs',
    kind: 'other',
    body: html`<nav class="crumbs" aria-label="Place"><a href="/" data-back>Runs</a> <span aria-hidden="true">/</span> Decided</nav>
<h1>Several runs</h1>
${
  refused.length === 0
    ? notice({ tone: 'good', text: `Recorded in ${done === 1 ? 'one run' : `${done} runs`}.` })
    : notice({
        tone: 'bad',
        text: `Nothing was recorded in ${refused.length} of ${results.length} runs: look at ${refused.length === 1 ? 'it' : 'them'} again.`,
      })
}
<ul class="batch-results">${results.map(
      ({ run_id, name, text, refused }) =>
        html`<li class="in-batch">${refused === null ? badge('good', 'recorded') : badge('bad', 'refused')} <a href="/runs/${run_id}">${plainLine(name)}</a>: ${shownLine(refused === null ? text : text === '' ? refused : `${refused} (${text})`)}</li>`,
    )}</ul>
<p><a href="/">Back to the runs</a></p>`,
  });
}

import { issueAuthorText, patchAuthorText } from '#kit/contracts/patch-author.ts';
import { gates, risks } from '#kit/contracts/vocabulary.ts';
import { subjectOf } from '#kit/repository-name.ts';
import { isOpen, type JudgedRun, rejectedBelow } from '../runs/run.ts';
import { needsDecision } from '../runs/what-is-open.ts';
import { actionArticle } from './action.ts';
import { agreementOfGate, agreementOfRun, hasAgreed } from './agreement.ts';
import { moment, riskBadge, statusBadge } from './badges.ts';
import { type Changes, changePart } from './change.ts';
import { controls, isCommitAhead } from './controls.ts';
import { gateForm } from './decisions.ts';
import { type Html, html, nothing } from './html.ts';
import { layout, type Notice, notice } from './layout.ts';
import type { Visit } from './page.ts';
import { planPart } from './plan-part.ts';
import type { ReviewParts } from './review-parts.ts';
import { validationPart } from './validation.ts';
import { plainLine, shownLine } from './visible-text.ts';

export const tabs = {
  review: { path: '', title: 'Review' },
  issue: { path: '/issue', title: 'Issue' },
  transcript: { path: '/transcript', title: 'Transcript' },
  timeline: { path: '/timeline', title: 'Timeline' },
  graph: { path: '/graph', title: 'Graph' },
  recovery: { path: '/recovery', title: 'Recovery' },
} as const;
export type Tab = keyof typeof tabs;

/** A run's page with one of its parts. @param said what a form that was just sent led to */
export function runLayout(
  visit: Visit,
  run: JudgedRun,
  tab: Tab | null,
  body: Html,
  said: Notice | null = null,
): Html {
  const { run_id, request, issue, plan } = run;
  const title = issue?.title ?? plan?.title ?? 'A run';
  return layout(visit, {
    title: `${subjectOf(request)} ${plainLine(title)}`,
    kind: 'run',
    live: `/runs/${run_id}/live?after=${run.head.seq}`,
    body: html`<nav class="crumbs" aria-label="Place"><a href="/" data-back>Runs</a> <span aria-hidden="true">/</span> ${shownLine(subjectOf(request))}</nav>
<div class="run-head"><h1>${shownLine(title)}</h1>${statusBadge(run.status)}${riskBadge(highestRisk(run))}</div>
${runFacts(run)}
<nav class="tabs" aria-label="Parts of the run">${Object.entries(tabs).map(
      ([name, { path, title }], index) =>
        html`<a href="/runs/${run_id}${path}" data-tab="${index + 1}" ${name === tab ? html`aria-current="page"` : nothing}>${title}</a>`,
    )}</nav>
${said === null ? nothing : notice(said)}
${body}`,
  });
}

function highestRisk(run: JudgedRun): string | null {
  const levels = run.actions.map(({ definition }) => risks.indexOf(definition.risk));
  return levels.length === 0 ? null : risks[Math.max(...levels)]!;
}

function runFacts(run: JudgedRun): Html {
  const { run_id, request, issue, plan, usage, created_at, updated_at, pull_request } = run;
  const cost =
    usage === null
      ? nothing
      : html`<span>${usage.model}, ${usage.input_tokens + usage.output_tokens} tokens${usage.cost === null ? nothing : html`, $${usage.cost.toFixed(4)}`}</span>`;
  const patch = patchAuthorText(plan);
  return html`<p class="run-facts"><code>${run_id.slice(0, 17)}</code>${issue === null ? nothing : html`<span>${shownLine(issueAuthorText(request.number, issue))}</span>`}${patch === null ? nothing : html`<span><strong>${shownLine(patch)}</strong></span>`}<span>planner ${request.agent ?? request.planner}</span><span>asked by ${shownLine(request.requested_by)}</span><span>made ${moment(created_at)}</span><span>changed ${moment(updated_at)}</span>${agreementOfRun(run)}${cost}${
    pull_request === null
      ? nothing
      : html`<span>pull request ${pull_request.number} ${pull_request.state}</span>`
  }</p>`;
}

/** The page on which a run is decided. */
export async function reviewPage(
  parts: ReviewParts,
  changes: Changes,
  visit: Visit,
  run: JudgedRun,
  said: Notice | null = null,
): Promise<Html> {
  const [isRequired, plan, validation, change, checkouts] = await Promise.all([
    parts.agent.requiresSignature(),
    planPart(parts.agent, run),
    validationPart(parts.agent, run),
    changePart(changes, visit, run),
    checkoutsOf(parts, run),
  ]);
  const look = {
    run,
    csrf: visit.csrf,
    who: visit.by.name,
    mayApprove: visit.by.scopes.includes('approve'),
    signing: { isRequired, home: parts.home },
    over: whyOver(run),
    change,
    validation,
    checkouts,
  };
  const sections = gates.map((gate) => {
    const actions = run.actions.filter(({ definition }) => definition.gate === gate);
    if (actions.length === 0) return nothing;
    const waiting =
      look.over === null
        ? actions.filter(
            (action) =>
              isOpen(action) &&
              needsDecision(action, new Date()) &&
              !hasAgreed(action, look.who) &&
              rejectedBelow(action, run.actions) === null,
          )
        : [];
    return html`<section class="gate" aria-labelledby="gate-${gate}-title"><h2 id="gate-${gate}-title">Gate ${gate} <span class="faint">${gateMeaning[gate]}</span></h2>
${agreementOfGate(actions)}
${actions.map((action) => actionArticle(action, look))}
${gateForm(gate, waiting, look)}<div id="gate-${gate}-end"></div></section>`;
  });
  const body = html`${plan}${sections}${controls({ run, csrf: visit.csrf, by: visit.by, checkouts })}`;
  return runLayout(visit, run, 'review', body, said);
}

/** Names of the working copies that the run can be delivered to, where its commit may still run. */
async function checkoutsOf({ agent, checkouts }: ReviewParts, run: JudgedRun): Promise<string[]> {
  return isCommitAhead(run) ? agent.checkoutsFor(run, checkouts()) : [];
}

const gateMeaning = {
  build: 'on this machine, nothing is visible to others',
  publish: 'visible to others',
} as const;

/** Why nothing of a run is decided any more; null while something may be. */
export function whyOver({ superseded_by, undo, status }: JudgedRun): string | null {
  if (superseded_by !== null) return 'superseded';
  return undo !== null || status === 'cancelled' ? status : null;
}

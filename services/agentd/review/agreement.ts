import { until } from '#kit/cli/moments.ts';
import { type Approval, signedBy } from '#kit/contracts/action.ts';
import type { ApprovalProgress } from '#kit/contracts/approval.ts';
import { identityKey } from '#kit/identity-name.ts';
import { whyOfNoUse } from '../approval/progress.ts';
import { isOpen, type JudgedAction, type JudgedRun } from '../runs/run.ts';
import { isLapsed, isUnread } from '../runs/what-is-open.ts';
import { moment, moments } from './badges.ts';
import { type Html, html, nothing } from './html.ts';
import { plainLine, shownLine } from './visible-text.ts';

/** Given and required approvals of an action, of a gate, and of a run. */

/** True if this person has approved an action that waits for others, so that another approval by them would not count. */
export function hasAgreed(action: JudgedAction, name: string, now = new Date()): boolean {
  const { terms, definition, counted: decisions, approval } = action;
  const own = decisions.find(({ approver }) => identityKey(approver) === identityKey(name));
  if (terms === null || approval !== 'required' || own?.person === undefined) return false;
  const { person, signature } = own;
  const somebody = { person: person.name, known_as: person.known_as, signed: signature !== undefined };
  const about = { terms, digest: definition.digest };
  return whyOfNoUse(about, decisions, now.toISOString(), somebody) === 'approved_already';
}

/** Progress of an action's approval, and why the approval does not count. */
export function agreementOf(action: JudgedAction, now = new Date()): Html {
  const problem = isOpen(action) ? action.approval_problem : null;
  const why = problem === null ? nothing : html`<br><strong>${shownLine(problem.message)}</strong>`;
  return html`${decisionsOf(action, now)}${why}`;
}

/** Requirement of each rule and decision of each person. */
function decisionsOf(action: JudgedAction, now: Date): Html {
  const { approval, decision, decisions } = action;
  const progress = progressIn(action);
  if (progress !== null) {
    return html`${approval}: <strong>${shownLine(progress.text)}</strong>${ownersMissing(progress)}
<ul class="agreement">${progress.rules.map(({ name, text, met }) => html`<li>rule ${shownLine(name)}: ${shownLine(text)}${met ? ', met' : nothing}</li>`)}<li>asked: ${shownLine(progress.needs)}</li>${decisions.map(
      (one) =>
        html`<li>${one.decision === 'approve' ? 'agreed' : 'rejected'}: ${deciderText(one, action, now)}</li>`,
    )}</ul>`;
  }
  if (decision === null) return html`${approval === 'required' ? 'waits for a decision' : approval}`;
  return html`${approval} by ${deciderText(decision, action, now)}${decision.reason === null ? nothing : html`: ${shownLine(decision.reason)}`}`;
}

function deciderText(decision: Approval, action: JudgedAction, now: Date): Html {
  const { standing, approver, claimed_approver, expires_at, at } = decision;
  const claimed = claimed_approver === null ? '' : ` (as ${plainLine(claimed_approver)})`;
  const who =
    standing === undefined
      ? html`<strong>${shownLine(approver)}</strong>${claimed}${plainLine(signedBy(decision))}`
      : standingText({ ...standing, author: approver });
  const end =
    expires_at === null || !isOpen(action)
      ? nothing
      : expires_at <= now.toISOString()
        ? html`, <strong>expired</strong> ${moment(expires_at, now)}`
        : html`, expires <span title="${moments(expires_at)}">${until(expires_at, now)}</span>`;
  return html`${who} ${moment(at, now)}${end}`;
}

function standingText({
  name,
  digest,
  author,
}: {
  readonly name: string;
  readonly digest: string;
  readonly author: string;
}): Html {
  return html`the standing approval <strong>${shownLine(name)}</strong> of ${shownLine(author)}, digest <code title="sha256 ${digest}">${digest.slice(0, 12)}</code>`;
}

/** A line for each way in which the rules of these actions are met so far, and for each standing approval. */
export function agreementOfGate(actions: readonly JudgedAction[], now = new Date()): Html {
  const asked = actions.flatMap((action) => {
    const progress = progressIn(action);
    const lapsed = action.approval === 'approved' && !counts(action, now);
    return progress === null || lapsed ? [] : [{ action, progress }];
  });
  const byProgress = [...Map.groupBy(asked, ({ progress }) => progress.text)];
  const byStanding = [
    ...Map.groupBy(
      actions.filter((action) => action.decision?.standing !== undefined && counts(action, now)),
      ({ decision }) => `${decision!.standing!.digest} ${decision!.approver}`,
    ).values(),
  ];
  const byProblem = [
    ...Map.groupBy(
      actions.filter((action) => isOpen(action) && action.approval_problem !== null),
      ({ approval_problem }) => approval_problem!.message,
    ),
  ];
  if (byProgress.length + byStanding.length + byProblem.length === 0) return nothing;
  return html`<ul class="agreement of-gate">${byProgress.map(([text, all]) => {
    const { progress } = all[0]!;
    return html`<li class="${progress.met ? 'met' : 'unmet'}">${ordinals(all.map(({ action }) => action))}: ${progress.met ? 'agreed' : 'waits'}, <strong>${shownLine(text)}</strong>${ownersMissing(progress)}; asked: ${shownLine(progress.needs)}</li>`;
  })}${byStanding.map((all) => {
    const { standing, approver } = all[0]!.decision!;
    return html`<li class="met">${ordinals(all)}: approved by ${standingText({ ...standing!, author: approver })}</li>`;
  })}${byProblem.map(([text, all]) => html`<li class="unmet">${ordinals(all)}: ${shownLine(text)}</li>`)}</ul>`;
}

/** Progress of the rules of a run, for its heading; empty if no rule applies. */
export function agreementOfRun({ actions }: JudgedRun, now = new Date()): Html {
  const byText = Map.groupBy(
    actions.filter((action) => progressIn(action) !== null),
    (action) => progressIn(action)!.text,
  );
  const standing = actions.filter(
    (action) => action.decision?.standing !== undefined && counts(action, now),
  ).length;
  const parts = [
    ...[...byText].map(
      ([text, asked]) =>
        html`<span>agreed ${shownLine(text)}${byText.size === 1 ? nothing : html` on ${ordinals(asked)}`}</span>`,
    ),
    ...(standing === 0 ? [] : [html`<span>${standing} approved in advance</span>`]),
  ];
  return html`${parts}`;
}

/** True if the action is approved and its approval counts now. */
function counts(action: JudgedAction, now: Date): boolean {
  return action.approval === 'approved' && !isUnread(action) && !isLapsed(action, now);
}

function progressIn(action: JudgedAction): ApprovalProgress | null {
  return action.approval === 'rejected' ? null : (action.progress ?? null);
}

function ownersMissing({ rules }: ApprovalProgress): Html {
  const owners = [...new Set(rules.flatMap(({ missing_owners }) => missing_owners.flat()))];
  return owners.length === 0 ? nothing : html` (${shownLine(owners.join(', '))})`;
}

function ordinals(actions: readonly JudgedAction[]): string {
  return actions.map(({ definition }) => definition.ordinal).join(', ');
}

import { until } from '#kit/cli/moments.ts';
import { type Approval, signedBy } from '#kit/contracts/action.ts';
import type { ApprovalProgress } from '#kit/contracts/approval.ts';
import { identityKey } from '#kit/identity-name.ts';
import { approvalProgress, whyOfNoUse } from '../approval/progress.ts';
import { type ActionState, isOpen, type Run } from '../runs/run.ts';
import { moment, moments } from './badges.ts';
import { type Html, html, nothing } from './html.ts';
import { plainLine, shownLine } from './visible-text.ts';

/** Who has agreed and who must: of an action, of a gate, and of a run. */

/** True if somebody has approved an action that waits for others, so that their approving it again would count for nothing. */
export function hasAgreed(action: ActionState, name: string, now = new Date()): boolean {
  const { terms, definition, decisions, approval } = action;
  const own = decisions.find(({ approver }) => identityKey(approver) === identityKey(name));
  if (terms === null || approval !== 'required' || own?.person === undefined) return false;
  const { person, signature } = own;
  const somebody = { person: person.name, known_as: person.known_as, signed: signature !== undefined };
  const about = { terms, digest: definition.digest };
  return whyOfNoUse(about, decisions, now.toISOString(), somebody) === 'approved_already';
}

/** How far the approval of an action is, with what each rule asks and what each person decided. */
export function agreementOf(action: ActionState, now = new Date()): Html {
  const { approval, decision, decisions } = action;
  const progress = progressIn(action, now);
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

function deciderText(decision: Approval, action: ActionState, now: Date): Html {
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
export function agreementOfGate(actions: readonly ActionState[], now = new Date()): Html {
  const asked = actions.flatMap((action) => {
    const progress = progressIn(action, now);
    return progress === null ? [] : [{ action, progress }];
  });
  const byProgress = [...Map.groupBy(asked, ({ progress }) => progress.text)];
  const byStanding = [
    ...Map.groupBy(
      actions.filter(({ approval, decision }) => approval === 'approved' && decision?.standing !== undefined),
      ({ decision }) => `${decision!.standing!.digest} ${decision!.approver}`,
    ).values(),
  ];
  if (byProgress.length + byStanding.length === 0) return nothing;
  return html`<ul class="agreement of-gate">${byProgress.map(([text, all]) => {
    const { progress } = all[0]!;
    return html`<li class="${progress.met ? 'met' : 'unmet'}">${ordinals(all.map(({ action }) => action))}: ${progress.met ? 'agreed' : 'waits'}, <strong>${shownLine(text)}</strong>${ownersMissing(progress)}; asked: ${shownLine(progress.needs)}</li>`;
  })}${byStanding.map((all) => {
    const { standing, approver } = all[0]!.decision!;
    return html`<li class="met">${ordinals(all)}: approved by ${standingText({ ...standing!, author: approver })}</li>`;
  })}</ul>`;
}

/** For the head of a run: how far its rules are met, or nothing where no rule asks. */
export function agreementOfRun({ actions }: Run, now = new Date()): Html {
  const byText = Map.groupBy(
    actions.filter((action) => progressIn(action, now) !== null),
    (action) => progressIn(action, now)!.text,
  );
  const standing = actions.filter(({ decision }) => decision?.standing !== undefined).length;
  const parts = [
    ...[...byText].map(
      ([text, asked]) =>
        html`<span>agreed ${shownLine(text)}${byText.size === 1 ? nothing : html` on ${ordinals(asked)}`}</span>`,
    ),
    ...(standing === 0 ? [] : [html`<span>${standing} approved in advance</span>`]),
  ];
  return html`${parts}`;
}

function progressIn(action: ActionState, now: Date): ApprovalProgress | null {
  return action.approval === 'rejected' ? null : (approvalProgress(action, now.toISOString()) ?? null);
}

function ownersMissing({ rules }: ApprovalProgress): Html {
  const owners = [...new Set(rules.flatMap(({ missing_owners }) => missing_owners.flat()))];
  return owners.length === 0 ? nothing : html` (${shownLine(owners.join(', '))})`;
}

function ordinals(actions: readonly ActionState[]): string {
  return actions.map(({ definition }) => definition.ordinal).join(', ');
}

import { approvalWord, criticalOf } from '#kit/contracts/approval-word.ts';
import type { JudgedAction, JudgedRun } from '../runs/run.ts';
import { needsDecision } from '../runs/what-is-open.ts';
import { hasAgreed } from './agreement.ts';
import { csrfField } from './csrf.ts';
import { type Html, html, nothing, raw } from './html.ts';
import { mustBeSigned, type SigningTerms, signingBlock } from './signing.ts';

/**
 * The forms of decisions. Each carries the digest and the approval of every action that it covers as they are on the page: when either
 * is another by the time it arrives, nothing is recorded.
 */

interface Look {
  readonly run: JudgedRun;
  readonly csrf: string;
  readonly who: string;
  readonly mayApprove: boolean;
  readonly signing: SigningTerms;
}

/** As forms carry an action that was seen. */
export function seenAction({ definition: { action_id, digest }, approval }: JudgedAction): string {
  return `${action_id} ${digest} ${approval}`;
}

/** @param look `canRun` is false where a rejection below keeps the action from running: approving it would lead nowhere */
export function decisionForms(action: JudgedAction, look: Look & { readonly canRun: boolean }): Html {
  if (!look.mayApprove)
    return html`<p class="faint">Deciding needs the scope approve, which your token or your groups do not give.</p>`;
  const { action_id } = action.definition;
  const agreed = hasAgreed(action, look.who);
  if (needsDecision(action, new Date()) && !agreed)
    return html`<div class="decide">${look.canRun ? approveForm(action, look) : nothing}${rejectForm(action, look)}</div>`;
  // What was decided is changed only by who opens this: no button moves under a pointer when somebody else decides.
  return html`${agreed ? html`<p class="faint">You have approved it. It waits for somebody else.</p>` : nothing}<details class="revise" id="${action_id}-change"><summary>Change the decision</summary>
<div class="decide">${action.approval === 'approved' || agreed ? nothing : approveForm(action, look)}${
    action.approval === 'rejected' ? nothing : rejectForm(action, look)
  }</div></details>`;
}

function approveForm(action: JudgedAction, look: Look): Html {
  const { action_id, ordinal, kind } = action.definition;
  if (mustBeSigned([action], look.signing))
    return signingBlock(`${action_id}-sign`, `${ordinal} ${kind}`, look.run, [action], look.signing);
  return html`<form method="post" action="/runs/${look.run.run_id}/decisions" class="approve" data-approve id="${action_id}-approve">
${csrfField(look.csrf)}<input type="hidden" name="decision" value="approve">
<input type="hidden" name="seen" value="${seenAction(action)}">
${wordField([action])}${anywayField(look.run, [action])}
<button class="primary">Approve${action.approval === 'approved' ? ' again' : ''}<span class="visually-hidden"> ${ordinal} ${kind}</span></button>
</form>`;
}

function rejectForm(action: JudgedAction, look: Look): Html {
  const { action_id, ordinal, kind } = action.definition;
  const into = kind === 'apply_patch' ? raw(' data-diff-into="reason"') : nothing;
  return html`<details class="reject" data-reject id="${action_id}-reject"><summary>Reject<span class="visually-hidden"> ${ordinal} ${kind}</span>…</summary>
<form method="post" action="/runs/${look.run.run_id}/decisions" class="stack">
${csrfField(look.csrf)}<input type="hidden" name="decision" value="reject">
<input type="hidden" name="seen" value="${seenAction(action)}">
<label for="${action_id}-reason">Why? The next plan of this issue learns from it.</label>
<textarea id="${action_id}-reason" name="reason" rows="3" required${into}></textarea>
<button class="danger">Reject ${ordinal} ${kind}</button>
</form></details>`;
}

/** Approves what waits in a gate, all of it or nothing. */
export function gateForm(gate: string, actions: readonly JudgedAction[], look: Look): Html {
  if (!look.mayApprove || actions.length < 2) return nothing;
  const names = actions.map(({ definition: { ordinal } }) => ordinal).join(', ');
  if (mustBeSigned(actions, look.signing))
    return signingBlock(`gate-${gate}`, `the gate ${gate} (${names})`, look.run, actions, look.signing);
  return html`<form method="post" action="/runs/${look.run.run_id}/decisions" class="gate-form" data-gate id="gate-${gate}">
${csrfField(look.csrf)}<input type="hidden" name="decision" value="approve">
${actions.map((action) => html`<input type="hidden" name="seen" value="${seenAction(action)}">`)}
${wordField(actions)}${anywayField(look.run, actions)}
<button class="primary">Approve the gate ${gate}</button> <span class="faint">actions ${names}, as they stand above</span>
</form>`;
}

/** What is critical takes a word that nobody types by accident. */
function wordField(actions: readonly JudgedAction[]): Html {
  const [critical] = criticalOf(actions.map(({ definition }) => definition));
  if (critical === undefined) return nothing;
  const { action_id } = critical;
  const id = `word-${actions.length}-${action_id}`;
  return html`<span class="word"><label for="${id}">Critical risk: type <strong>${approvalWord}</strong></label> <input id="${id}" name="word" autocomplete="off" required pattern="${approvalWord}" size="8"></span>`;
}

function anywayField({ actions: all }: JudgedRun, actions: readonly JudgedAction[]): Html {
  const failed = all.some(({ outcome }) => outcome?.code === 'validation_failed');
  if (!failed || actions.every(({ definition }) => definition.kind === 'run_validation')) return nothing;
  return html`<label class="anyway"><input type="checkbox" name="anyway" value="yes"> although the validation failed; it runs again first</label>`;
}

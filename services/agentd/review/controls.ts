import type { Identity } from '#kit/tokens/tokens.ts';
import { isActive, type Run } from '../runs/run.ts';
import { whatIsOpen } from '../runs/what-is-open.ts';
import { csrfField } from './csrf.ts';
import { type Html, html, nothing } from './html.ts';
import { plainLine } from './visible-text.ts';

/** What can be done with the whole run now: execute, resume, cancel, undo. It stays at the bottom of the window. */

interface Look {
  readonly run: Run;
  readonly csrf: string;
  readonly by: Identity;
  readonly checkouts: readonly string[];
}

export function controls(look: Look): Html {
  const { run, by } = look;
  const may = (scope: Identity['scopes'][number]) => by.scopes.includes(scope);
  const parts = [
    ...(may('execute') ? [executeForm(look), undoLink(look)] : []),
    ...(may('plan') ? [resumeForm(look), againForm(look), cancelForm(look)] : []),
  ];
  return html`<section class="controls" aria-label="What can be done now"><p class="next">${nextStep(run)}</p>${parts}</section>`;
}

/** Where the run stands, in one sentence. */
export function nextStep(run: Run, now: Date = new Date()): string {
  if (run.cancelling && isActive(run.status)) return 'Stopping: a started effect finishes.';
  if (run.superseded_by !== null) return 'A newer plan of the issue took its place.';
  if (run.undo?.complete === true) return 'The run was undone.';
  switch (run.status) {
    case 'planning':
      return 'The plan is being made.';
    case 'executing':
      return 'Executing what was approved.';
    case 'interrupted':
      return 'A crash or a stop cut it off. Resume goes on where it was.';
    case 'completed':
      return 'Done: every action succeeded.';
    case 'cancelled':
      return 'The run was cancelled.';
    case 'rejected':
      return 'Every action was rejected.';
    case 'undone':
      return 'The run was undone.';
    case 'superseded':
      return 'A newer plan of the issue took its place.';
    case 'failed':
    case 'partially_completed':
    case 'awaiting_approval':
      return openText(run, now);
  }
}

function openText(run: Run, now: Date): string {
  if (run.plan === null) return run.failure === null ? 'There is no plan.' : 'Planning failed.';
  const { ready, waiting, dead } = whatIsOpen(run, now);
  const texts = [
    ...(ready.length === 0 ? [] : [`${counted(ready.length)} approved and ready to execute.`]),
    ...(waiting.length === 0
      ? []
      : [`${counted(waiting.length)} wait${waiting.length === 1 ? 's' : ''} for a decision.`]),
    ...(dead.size === 0 ? [] : [`${counted(dead.size)} cannot run any more.`]),
  ];
  return texts.length === 0 ? 'Nothing waits for you.' : texts.join(' ');
}

function counted(count: number): string {
  return `${count} action${count === 1 ? '' : 's'}`;
}

function executeForm({ run, csrf, checkouts }: Look): Html {
  if (run.plan === null || isActive(run.status) || whatIsOpen(run, new Date()).ready.length === 0)
    return nothing;
  const needsCheckout = run.plan.target.branch !== null;
  if (needsCheckout && checkouts.length === 0)
    return html`<p class="notice warn">Executing it delivers to a working copy, and core-agentd knows none yet: add <code>{"agentd": {"checkouts": {"thing": "/path/to/thing"}}}</code> to core.json and start it again, or execute it with <code>./core execute-approved</code>.</p>`;
  return html`<form method="post" action="/runs/${run.run_id}/execute" data-execute id="execute">
${csrfField(csrf)}
${needsCheckout ? checkoutField(checkouts, run) : nothing}
<button class="primary">Execute</button></form>`;
}

function checkoutField(checkouts: readonly string[], run: Run): Html {
  if (checkouts.length === 1)
    return html`<input type="hidden" name="checkout" value="${checkouts[0]}"><span class="faint">into ${plainLine(checkouts[0]!)}</span>`;
  return html`<label>into <select name="checkout">${checkouts.map(
    (name) => html`<option${name === run.request.repo ? html` selected` : nothing}>${name}</option>`,
  )}</select></label>`;
}

function resumeForm({ run, csrf }: Look): Html {
  const undoing = run.undo !== null && !run.undo.complete;
  if (run.status !== 'interrupted' && !undoing) return nothing;
  return html`<form method="post" action="/runs/${run.run_id}/resume" data-resume id="resume">${csrfField(csrf)}<button class="primary">Resume</button></form>`;
}

function undoLink({ run }: Look): Html {
  const done = run.actions.some(({ state }) => ['succeeded', 'failed', 'unknown'].includes(state));
  if (!done || isActive(run.status) || run.undo?.complete === true) return nothing;
  return html`<a class="button" href="/runs/${run.run_id}/undo" data-undo>Undo…</a>`;
}

/** Comments on lines of the change come here too; a run that waits is replaced by the new one. */
function againForm({ run, csrf }: Look): Html {
  if (isActive(run.status) || run.plan === null || run.superseded_by !== null) return nothing;
  return html`<details class="reject" data-again id="again"><summary>Plan again…</summary>
<form method="post" action="/runs/${run.run_id}/plan" class="stack">${csrfField(csrf)}
<label for="again-note">What should the next plan know? (may be left empty)</label><textarea id="again-note" name="note" rows="4" maxlength="10000" data-diff-into="note"></textarea>
<button class="primary">Plan again</button></form></details>`;
}

const closed: readonly string[] = ['completed', 'cancelled', 'undone', 'rejected', 'superseded'];

function cancelForm({ run, csrf }: Look): Html {
  if (closed.includes(run.status) || run.undo !== null || run.cancelling) return nothing;
  return html`<details class="reject" data-cancel id="cancel"><summary>Cancel the run…</summary>
<form method="post" action="/runs/${run.run_id}/cancel" class="stack">${csrfField(csrf)}
<label for="cancel-reason">Why? (may be left empty)</label><input id="cancel-reason" name="reason" autocomplete="off">
<button class="danger">Cancel the run</button></form></details>`;
}

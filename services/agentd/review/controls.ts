import type { Identity } from '#kit/tokens/tokens.ts';
import { mustBeDelivered } from '../actions/commit.ts';
import { type ActionState, actionOfKind, isActive, type JudgedRun } from '../runs/run.ts';
import { whatIsOpen } from '../runs/what-is-open.ts';
import { nameOf } from './action.ts';
import { csrfField } from './csrf.ts';
import { type Html, html, nothing } from './html.ts';
import { isWebAddress } from './outcome.ts';
import { shownLine } from './visible-text.ts';

/** What can be done with the whole run now: execute, resume, cancel, undo. It stays at the bottom of the window. */

interface Look {
  readonly run: JudgedRun;
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

/** Where the run stands and what comes next, in a sentence or two that lead to the actions they are about. */
function nextStep(run: JudgedRun, now: Date = new Date()): Html {
  if (run.cancelling && isActive(run.status)) return html`Stopping: a started effect finishes.`;
  if (run.superseded_by !== null) return html`A newer plan of the issue took its place.`;
  if (run.undo?.complete === true) return html`The run was undone.`;
  switch (run.status) {
    case 'planning':
      return html`The plan is being made.`;
    case 'executing':
      return executingText(run);
    case 'interrupted':
      return html`A crash or a stop cut it off. Resume goes on where it was.`;
    case 'completed':
      return html`Done: ${resultOf(run) ?? 'every action succeeded'}.`;
    case 'cancelled':
      return html`The run was cancelled.`;
    case 'rejected':
      return html`Every action was rejected.`;
    case 'undone':
      return html`The run was undone.`;
    case 'superseded':
      return html`A newer plan of the issue took its place.`;
    case 'failed':
    case 'partially_completed':
    case 'awaiting_approval':
      return openText(run, now);
  }
}

function executingText({ actions }: JudgedRun): Html {
  const running = actions.find(({ state }) => state === 'running');
  if (running === undefined) return html`Executing what was approved.`;
  return html`Executing ${linkTo(running, nameOf(running))}: ${shownLine(running.definition.title)}`;
}

/** What others see of a run that is done; null where nobody does. */
function resultOf(run: JudgedRun): Html | null {
  const opened = actionOfKind(run, 'open_pull_request');
  if (opened?.outcome == null) return null;
  const { number, url } = opened.outcome.facts;
  const name = html`pull request #${String(number)}`;
  const link =
    typeof url === 'string' && isWebAddress(url)
      ? html`<a href="${url}" rel="noopener noreferrer nofollow" target="_blank">${name}</a>`
      : linkTo(opened, name);
  return html`${link} is ${run.pull_request?.state ?? 'open'}`;
}

function openText(run: JudgedRun, now: Date): Html {
  if (run.plan === null) return html`${run.failure === null ? 'There is no plan.' : 'Planning failed.'}`;
  const { ready, waiting, dead } = whatIsOpen(run, now);
  const [first] = waiting;
  const texts = [
    ...validationText(run),
    ...(ready.length === 0 ? [] : [html`${counted(ready.length)} approved and ready to execute.`]),
    ...(first === undefined
      ? []
      : [
          html`${linkTo(first, counted(waiting.length))} wait${waiting.length === 1 ? 's' : ''} for a decision.`,
        ]),
    ...(dead.size === 0 ? [] : [html`${counted(dead.size)} cannot run any more.`]),
  ];
  return texts.length === 0 ? html`Nothing waits for you.` : html`${texts.map((text) => html`${text} `)}`;
}

function validationText(run: JudgedRun): Html[] {
  const action = actionOfKind(run, 'run_validation');
  if (action?.state === 'succeeded')
    return action.outcome?.facts.passed === false
      ? [html`${linkTo(action, 'The validation')} failed as the base does.`]
      : [html`${linkTo(action, 'The validation')} passed.`];
  return action?.outcome?.code === 'validation_failed'
    ? [html`${linkTo(action, 'The validation')} failed: plan again, with a note of what is wrong.`]
    : [];
}

function linkTo({ definition: { action_id } }: ActionState, text: Html | string): Html {
  return html`<a href="#${action_id}">${text}</a>`;
}

function counted(count: number): string {
  return `${count} action${count === 1 ? '' : 's'}`;
}

function executeForm({ run, csrf, checkouts }: Look): Html {
  if (run.plan === null || isActive(run.status) || whatIsOpen(run, new Date()).ready.length === 0)
    return nothing;
  return html`<form method="post" action="/runs/${run.run_id}/execute" data-execute id="execute">
${csrfField(csrf)}
${deliveryField(run, checkouts)}
<button class="primary">Execute</button></form>`;
}

export function isCommitAhead(run: JudgedRun): boolean {
  const commit = actionOfKind(run, 'commit');
  return commit !== undefined && commit.state !== 'succeeded' && commit.state !== 'undone';
}

/** Says where the branch goes, while the commit is still ahead. */
function deliveryField(run: JudgedRun, checkouts: readonly string[]): Html {
  if (!isCommitAhead(run)) return html`<input type="hidden" name="checkout" value="">`;
  const commit = actionOfKind(run, 'commit')?.definition;
  const must = commit?.kind === 'commit' && mustBeDelivered(commit);
  if (checkouts.length === 0) {
    const text = must
      ? 'refused while its commit is to reach a working copy and none is here: name one, or plan again'
      : 'to the forge alone: no working copy here';
    return html`<span class="faint">${text}</span>`;
  }
  const selected = checkouts.find((name) => name === run.request.repo) ?? checkouts[0];
  return html`<label>into <select name="checkout">${checkouts.map(
    (name) => html`<option${name === selected ? html` selected` : nothing}>${name}</option>`,
  )}${must ? nothing : html`<option value="">no working copy, the forge alone</option>`}</select></label>`;
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
  const neither = run.plan === null && run.failure === null;
  if (isActive(run.status) || neither || run.superseded_by !== null) return nothing;
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

import { movedText, renamedText } from '#kit/contracts/run.ts';
import { codeOf } from '#kit/errors.ts';
import type { Artifacts } from '../runs/conversation.ts';
import { actionOfKind, draftOf, type Run } from '../runs/run.ts';
import { badge } from './badges.ts';
import { type Html, html, nothing } from './html.ts';
import { notice } from './layout.ts';
import { shownLine, shownText } from './visible-text.ts';

/** What a run's page says before its actions: what is wrong, what to know, and the plan in its planner's words. */
export async function planPart(artifacts: Artifacts, run: Run): Promise<Html> {
  return html`${failure(run)}${note(run)}${notices(run)}${await explanation(artifacts, run)}${checks(run)}`;
}

/** What who asked for the plan wrote beside the issue. */
function note({ request: { note, requested_by } }: Run): Html {
  if (note === undefined) return nothing;
  return html`<section class="note" aria-label="Note to this plan"><p class="faint">Note by ${shownLine(requested_by)} to this plan${note.trusted ? nothing : html` ${badge('warn', 'untrusted')}`}</p><pre class="text" tabindex="0">${shownText(note.text)}</pre></section>`;
}

function failure(run: Run): Html {
  if (run.failure === null) return nothing;
  return html`${notice({ tone: 'bad', text: `Planning failed: ${run.failure.message}`, hint: run.failure.code })}${
    draftOf(run) === null
      ? nothing
      : html`<p><a href="/runs/${run.run_id}/draft">What the agent left so far</a></p>`
  }`;
}

function notices(run: Run): Html {
  const { superseded_by, base_moved, issue_changed, renamed, plan } = run;
  const pushed = actionOfKind(run, 'push_branch')?.state === 'succeeded';
  return html`${
    superseded_by === null
      ? nothing
      : html`<p class="notice warn">A newer plan of the issue took its place: <a href="/runs/${superseded_by}">${superseded_by}</a></p>`
  }${renamed === null ? nothing : notice({ tone: 'warn', text: renamedText(`${run.request.owner}/${run.request.repo}`, renamed) })}${base_moved === null || pushed ? nothing : notice({ tone: 'warn', text: movedText(base_moved) })}${
    issue_changed === null ? nothing : notice({ tone: 'warn', text: issue_changed })
  }${(plan?.notices ?? []).map((text) => notice({ tone: 'warn', text }))}`;
}

async function explanation(artifacts: Artifacts, run: Run): Promise<Html> {
  if (run.plan === null) {
    if (run.failure !== null) return nothing;
    return html`<p class="empty">There is no plan yet${run.status === 'planning' ? '; it is being made' : ''}.</p>`;
  }
  const { markdown } = await import('./markdown.ts');
  const text = await artifacts.artifact(run.run_id, run.plan.explanation).catch((error) => {
    if (codeOf(error) === 'artifact_not_found') return null;
    throw error;
  });
  return html`<section class="plan" aria-labelledby="plan-title"><h2 id="plan-title">${shownLine(run.plan.title)}</h2>
${text === null ? html`<p class="empty">Its explanation was deleted.</p>` : markdown(Buffer.from(text).toString('utf8'))}</section>`;
}

function checks({ plan }: Run): Html {
  const failed = (plan?.checks ?? []).filter(({ passed }) => !passed);
  if (failed.length === 0) return nothing;
  return html`<ul class="reasons">${failed.map(({ name, detail }) => html`<li>${badge('warn', 'check')} ${shownLine(name)}: ${shownLine(detail)}</li>`)}</ul>`;
}

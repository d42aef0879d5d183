import { risks, runStatuses } from '#kit/contracts/vocabulary.ts';
import { invalidQuery } from '#kit/http/route.ts';
import { subjectOf } from '#kit/repository-name.ts';
import type { CoreAgent } from '../core-agent.ts';
import type { RunSummary } from '../runs/run.ts';
import { decodeRunQuery, runParameters } from '../runs/run-query.ts';
import type { RunQuery } from '../runs/run-store.ts';
import { moment, riskBadge, statusBadge, statusWord } from './badges.ts';
import { csrfField } from './csrf.ts';
import { type Html, html, nothing } from './html.ts';
import { layout, type Notice, notice } from './layout.ts';
import type { Visit } from './page.ts';
import { plainLine, shownLine } from './visible-text.ts';

const { text, status, repository, risk, cursor } = runParameters;
/** What the list can be asked for with. */
export const listParameters = {
  text,
  status,
  repository,
  risk,
  cursor,
  person: { description: 'Only runs of this person, as `did` says', schema: { type: 'string' } },
  did: {
    description: 'What the person did or must do: asked for it, decided about it, or must still agree',
    schema: { type: 'string', enum: ['asked', 'decided', 'must'], default: 'asked' },
  },
};
type Filters = Readonly<Partial<Record<keyof typeof listParameters, string | undefined>>>;

const pageSize = 50;

/** The runs: first those that wait for somebody, then all others; with a filter, what it finds. */
export async function runsPage(agent: CoreAgent, visit: Visit, said: Notice | null = null): Promise<Html> {
  const filters = withoutEmpty(visit.request.query as Filters);
  const { cursor, did, person, ...narrowing } = filters;
  const chosen = person === undefined ? narrowing : { ...narrowing, person, did: did ?? 'asked' };
  const filtered = Object.keys(chosen).length > 0;
  const query = {
    ...decodeRunQuery(
      { ...narrowing, ...(cursor === undefined ? {} : { cursor }), limit: String(pageSize) },
      new Date(),
    ),
    ...(person === undefined ? {} : await ofPerson(agent, person, did)),
  };
  const [page, waiting] = await Promise.all([
    agent.runs(query),
    filtered || cursor !== undefined ? null : agent.runs({ limit: 100, status: 'awaiting_approval' }),
  ]);
  const waits = waiting?.runs.filter((run) => run.waiting > 0) ?? [];
  const others = page.runs.filter(({ run_id }) => !waits.some((run) => run.run_id === run_id));
  const isNew = waiting !== null && waits.length + others.length === 0;
  const mayDecide = visit.by.scopes.includes('approve');
  const batch = mayDecide && [...waits, ...others].some(mayBeChosen) ? batchForm(visit) : nothing;
  return layout(visit, {
    title: 'Runs',
    kind: 'list',
    // An answer to a form has no address that it could be loaded from again.
    ...(said === null ? { live: '/live' } : {}),
    body: html`<div class="list-head"><h1>Runs</h1><span class="grow"></span>${
      visit.by.scopes.includes('plan')
        ? html`<a class="button primary" href="/plan" data-plan>Plan an issue</a>`
        : nothing
    }</div>
${said === null ? nothing : notice(said)}
${
  isNew
    ? firstSteps
    : html`${filterForm(chosen)}
${waiting === null ? nothing : html`${waitingPart(waits, mayDecide)}${batch}`}
<section aria-labelledby="all"><h2 id="all">${waiting === null ? 'Found' : 'All others'}</h2>
${others.length === 0 ? emptyList(filtered) : runTable(others, mayDecide)}
${page.next_cursor === null ? nothing : html`<p><a class="button" href="/?${new URLSearchParams({ ...chosen, cursor: page.next_cursor }).toString()}">Older runs</a></p>`}
</section>
${waiting === null ? batch : nothing}`
}
${page.problems.length === 0 ? nothing : html`<section aria-labelledby="problems"><h2 id="problems">Cannot be read</h2><ul class="reasons">${page.problems.map((what) => html`<li>${shownLine(what)}</li>`)}</ul></section>`}`,
  });
}

const firstSteps = html`<section class="plan" aria-labelledby="first"><h2 id="first">No runs yet</h2>
<p>A run takes an issue to a pull request: Core plans the change, you read it and approve its actions, and Core does what you approved, after a validation. Until then nothing is written.</p>
<p><a href="/plan">Plan an issue</a> to begin.</p></section>`;

function withoutEmpty(filters: Filters): Record<string, string> {
  return Object.fromEntries(
    Object.entries(filters).flatMap(([name, value]) =>
      value === undefined || value.trim() === '' ? [] : [[name, value]],
    ),
  );
}

async function ofPerson(
  agent: CoreAgent,
  person: string,
  did: string | undefined,
): Promise<Pick<RunQuery, 'asker' | 'decider' | 'among'>> {
  switch (did) {
    case undefined:
    case 'asked':
      return { asker: person };
    case 'decided':
      return { decider: person };
    case 'must': {
      const { items } = await agent.inbox({ person, now: new Date() });
      const decisions = items.filter(({ kind }) => kind === 'approval' || kind === 'lapsed');
      return { among: decisions.map(({ run_id }) => run_id) };
    }
    default:
      throw invalidQuery('did', did, 'one of asked, decided, must');
  }
}

function mayBeChosen({ waiting }: RunSummary): boolean {
  return waiting > 0;
}

/** Its boxes are those of the rows. */
function batchForm({ csrf }: Visit): Html {
  return html`<form id="batch" class="batch-form" method="post" action="/batch/look" data-batch>${csrfField(csrf)}<button>Decide about the selected runs…</button> <span class="faint">shows each action with its risk first</span></form>`;
}

function waitingPart(runs: readonly RunSummary[], mayDecide: boolean): Html {
  return html`<section aria-labelledby="waiting"><h2 id="waiting">Waits for a decision</h2>
${runs.length === 0 ? html`<p class="empty">Nothing waits for you.</p>` : runTable(runs, mayDecide)}</section>`;
}

function emptyList(filtered: boolean): Html {
  return filtered
    ? html`<p class="empty">No run is like that. <a href="/">Show all</a></p>`
    : html`<p class="empty">No other runs.</p>`;
}

function runTable(runs: readonly RunSummary[], mayDecide: boolean): Html {
  return html`<ol class="runs">${runs.map(
    (run) => html`<li id="row-${run.run_id}">${
      mayDecide && mayBeChosen(run)
        ? html`<input type="checkbox" class="choose" form="batch" name="run" value="${run.run_id}" id="choose-${run.run_id}" aria-label="Select ${plainLine(subjectOf(run))} ${plainLine(run.title ?? '')}">`
        : nothing
    }<a class="run" href="/runs/${run.run_id}" data-run>
<span class="run-title"><span class="subject">${shownLine(subjectOf(run))}</span> ${shownLine(run.title ?? 'not read yet')}</span>
<span class="run-marks">${riskBadge(run.highest_risk)}${statusBadge(run.status)}</span>
<span class="run-note">${run.waits_for === null ? `${run.actions} actions` : `${run.waiting} of ${run.actions} actions wait, gate ${run.waits_for}`}, changed ${moment(run.updated_at)}</span>
</a></li>`,
  )}</ol>`;
}

const deeds = { asked: 'asked for it', decided: 'decided about it', must: 'must agree' } as const;

function filterForm(filters: Readonly<Record<string, string>>): Html {
  const select = (
    name: string,
    label: string,
    values: readonly string[],
  ) => html`<label><span class="visually-hidden">${label}</span>
<select name="${name}"><option value="">${label}: any</option>${values.map(
    (value) =>
      html`<option value="${value}"${filters[name] === value ? html` selected` : nothing}>${statusWord(value)}</option>`,
  )}</select></label>`;
  return html`<form class="filters" method="get" action="/" role="search" data-filters>
<label class="search"><span class="visually-hidden">Words in the title or the name of the issue</span><input type="search" name="text" value="${filters.text ?? ''}" placeholder="Search" data-search></label>
<label><span class="visually-hidden">Repository</span><input name="repository" value="${filters.repository ?? ''}" placeholder="owner/repo" size="16"></label>
${select('status', 'State', runStatuses)}
${select('risk', 'Risk from', risks)}
<span class="person"><label><span class="visually-hidden">Person or token</span><input name="person" value="${filters.person ?? ''}" placeholder="Person" size="10" autocomplete="off"></label>
<label><span class="visually-hidden">What the person did</span><select name="did">${Object.entries(deeds).map(
    ([value, name]) =>
      html`<option value="${value}"${filters.did === value ? html` selected` : nothing}>${name}</option>`,
  )}</select></label></span>
<button>Filter</button>
${Object.keys(filters).length === 0 ? nothing : html`<a href="/">Clear</a>`}
</form>`;
}

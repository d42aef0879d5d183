import { CoreError, messageOf } from '#kit/errors.ts';
import { maskedText } from '#kit/redaction/masked-text.ts';
import { repositoryNamed, repositoryRule } from '#kit/repository-name.ts';
import type { IssuePage, ListedIssue } from '../planning/issues.ts';
import { moment, statusBadge } from './badges.ts';
import { csrfField } from './csrf.ts';
import { type Html, html, nothing } from './html.ts';
import { layout, notice, type Viewer } from './layout.ts';
import type { ReviewParts } from './review-parts.ts';
import { plainLine, shownLine } from './visible-text.ts';

/** What the form holds: as it was sent, where it was refused. */
export interface PlanFields {
  readonly repository: string;
  readonly number?: string | undefined;
  readonly task?: string | undefined;
}

const maxIssues = 50;
/** Milliseconds that a forge is waited for. */
const forgeMs = 10_000;

/** Makes the page on which a plan is asked for: with the open issues of the repository where `lists` says so, and with why what was sent was not planned. */
export function planPage(parts: Pick<ReviewParts, 'agent' | 'checkouts'>) {
  return async (viewer: Viewer, fields: PlanFields, lists: boolean, refused?: string): Promise<Html> => {
    const { repository } = fields;
    const [known, issues] = await Promise.all([
      knownRepositories(parts),
      lists ? issuesPart(parts, viewer, repository) : nothing,
    ]);
    return layout(viewer, {
      title: 'Plan an issue',
      kind: 'other',
      body: html`<div class="narrow"><nav class="crumbs" aria-label="Place"><a href="/" data-back>Runs</a> <span aria-hidden="true">/</span> Plan</nav>
<h1>Plan an issue</h1>
<p>Planning reads the issue and proposes actions. It writes nothing to the repository; you decide about each action afterwards.</p>
${refused === undefined ? nothing : notice({ tone: 'bad', text: refused })}
${known.length === 0 ? nothing : html`<nav class="known" aria-label="Repositories">${known.map((name) => html`<a class="button" href="/plan?${new URLSearchParams({ repository: name }).toString()}"${name === repository ? html` aria-current="true"` : nothing}>${shownLine(name)}</a>`)}</nav>`}
${issues}
${lists ? html`<h2>By number, or in words</h2>` : nothing}
<form method="post" action="/plan" class="stack">${csrfField(viewer.csrf)}
<label for="repository">Repository</label><input id="repository" name="repository" value="${repository}" placeholder="owner/repo" list="repositories" required ${repository === '' ? html`autofocus` : nothing} autocomplete="off">
<datalist id="repositories">${known.map((name) => html`<option value="${name}"></option>`)}</datalist>
<label for="number">Number of the issue</label><input id="number" name="number" value="${fields.number ?? ''}" inputmode="numeric" autocomplete="off">
<label for="task">Or, without an issue: what is to be done</label><textarea id="task" name="task" rows="4">
${maskedText(fields.task ?? '')}</textarea>
<div class="decide"><button class="primary">Plan</button><button name="list" value="yes">Show open issues</button></div></form></div>`,
    });
  };
}

/** Those of the newest runs and of the working copies here. */
async function knownRepositories({ agent, checkouts }: Pick<ReviewParts, 'agent' | 'checkouts'>) {
  const { runs } = await agent.runs({ limit: 100 });
  const delivered = await Promise.all(
    Object.values(checkouts()).map(async (path) => {
      try {
        return await agent.repositoryOf(path);
      } catch (error) {
        // A working copy that is gone, or of no repository that a forge here has.
        if (error instanceof CoreError) return null;
        throw error;
      }
    }),
  );
  const refs = [...delivered, ...runs].filter((ref) => ref !== null);
  return [...new Set(refs.map(({ owner, repo }) => `${owner}/${repo}`))].slice(0, 12).map(plainLine);
}

async function issuesPart(
  { agent }: Pick<ReviewParts, 'agent'>,
  viewer: Viewer,
  repository: string,
): Promise<Html> {
  const named = repositoryNamed(repository.trim());
  if (named === null) return notice({ tone: 'bad', text: `'${repository}' must be ${repositoryRule}` });
  try {
    const query = { ...named, state: 'open', limit: maxIssues } as const;
    return issueList(await agent.issues(query, AbortSignal.timeout(forgeMs)), viewer);
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
    return notice({ tone: 'bad', text: messageOf(error) });
  }
}

function issueList({ owner, repo, issues }: IssuePage, { csrf }: Viewer): Html {
  const fields = html`${csrfField(csrf)}<input type="hidden" name="repository" value="${owner}/${repo}">`;
  const name = shownLine(`${owner}/${repo}`);
  if (issues.length === 0) return html`<p class="empty">${name} has no open issues.</p>`;
  return html`<section aria-labelledby="issues"><h2 id="issues">Open issues of ${name}</h2>
<ol class="runs">${issues.map((issue) => issueRow(issue, fields))}</ol>
${issues.length < maxIssues ? nothing : html`<p class="faint">The newest ${maxIssues}; plan an older one by its number.</p>`}</section>`;
}

function issueRow({ number, title, author, updated_at, planned }: ListedIssue, fields: Html): Html {
  return html`<li class="issue-row"><span class="issue"><span class="run-title"><span class="subject">#${number}</span> ${shownLine(title)}</span>
<span class="issue-note">by ${shownLine(author.login)}, changed ${moment(updated_at)}${planned === null ? nothing : html`, <a href="/runs/${planned.run_id}">planned</a> ${statusBadge(planned.status)}`}</span></span>
<form method="post" action="/plan">${fields}<button name="number" value="${number}">Plan${planned === null ? nothing : ' again'}<span class="visually-hidden"> issue ${number}</span></button></form></li>`;
}

import { IssueThread } from '#kit/contracts/stored-texts.ts';
import { decodeJson } from '#kit/decode.ts';
import { codeOf } from '#kit/errors.ts';
import type { Artifacts } from '../runs/conversation.ts';
import type { Run } from '../runs/run.ts';
import { badge, moment } from './badges.ts';
import { type Html, html, nothing } from './html.ts';
import { isWebAddress } from './outcome.ts';
import { shownLine } from './visible-text.ts';

/** The issue and its conversation as the run read them, with what outsiders wrote marked. */
export async function issueThread(artifacts: Artifacts, run: Run): Promise<Html> {
  const { issue } = run;
  if (issue === null) return html`<p class="empty">The issue has not been read yet.</p>`;
  const untrusted = untrustedAuthors(run);
  const { markdown } = await import('./markdown.ts');
  try {
    const text = Buffer.from(await artifacts.artifact(run.run_id, issue.content)).toString('utf8');
    const { issue: read, comments } = decodeJson(IssueThread, text, 'the issue as it was read');
    const posts = [{ body: read.body, author: read.author, created_at: null }, ...comments];
    return html`<h2>${shownLine(issue.title)}</h2>
<p class="faint">${issue.state}${read.labels.length === 0 ? nothing : html` · ${read.labels.map((label) => html`<span class="label">${shownLine(label)}</span> `)}`}${
      issue.html_url !== null && isWebAddress(issue.html_url)
        ? html` · <a href="${issue.html_url}" rel="noopener noreferrer nofollow" target="_blank" data-issue>${shownLine(issue.html_url)}</a>`
        : nothing
    }</p>
${run.masked.length === 0 ? nothing : html`<p class="notice warn">Secrets were masked in ${new Set(run.masked.map(({ place }) => place)).size} places before anything was made of the texts.</p>`}
${posts.map(({ body, author, created_at }) => {
  const outside = untrusted.has(author.login);
  return html`<article class="post ${outside ? 'untrusted' : ''}"><header><strong>${shownLine(author.login)}</strong> <span class="faint">${author.association}</span>${created_at === null ? nothing : html` <span class="faint">${moment(created_at)}</span>`}<span class="grow"></span>${outside ? badge('warn', 'untrusted') : nothing}</header>
${markdown(body)}</article>`;
})}`;
  } catch (error) {
    if (codeOf(error) !== 'artifact_not_found') throw error;
    return html`<p class="empty">The copy of the issue was deleted.</p>`;
  }
}

/** Who wrote an issue or comment that the plan names as untrusted; before there is a plan, everybody. */
function untrustedAuthors({ plan, issue }: Run): { has(author: string): boolean } {
  if (plan === null) return { has: () => issue !== null };
  return new Set(
    plan.influences
      .filter(({ trusted }) => !trusted)
      .flatMap(({ author }) => (author === null ? [] : [author])),
  );
}

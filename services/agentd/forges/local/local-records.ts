import { join } from 'node:path';
import type { Comment, Issue, IssueFilter, PullRequest } from '../../ports/forge.ts';
import { shortenedBody } from '../bodies.ts';
import { hasLabel } from '../labels.ts';
import { branchCommit, rememberedHead } from './bare-repository.ts';
import { entriesOf, type RepositoryFolder, readRecord, recordNumbers } from './forge-folder.ts';
import { CommentRecord, EndRecord, IssueRecord, PullRequestRecord } from './records.ts';

/** Reads the files of one repository as the issues, comments and pull requests that they are. */

/** null where there is no such issue. */
export async function readIssue(folder: RepositoryFolder, number: number): Promise<Issue | null> {
  const record = await readRecord(IssueRecord, issuePath(folder, number));
  if (record === null) return null;
  const end = await readRecord(EndRecord, endPath(folder, 'issues', number));
  const changes = (await readComments(folder, number)).map(({ created_at }) => created_at);
  const updated = [record.created_at, ...changes, ...(end === null ? [] : [end.at])].sort().at(-1)!;
  return { ...record, state: end === null ? 'open' : 'closed', updated_at: updated, html_url: null };
}

export async function readIssues(folder: RepositoryFolder, filter: IssueFilter): Promise<Issue[]> {
  const { state, limit, sort = 'created' } = filter;
  const issues: Issue[] = [];
  for (const number of (await recordNumbers(join(folder.path, 'issues'))).reverse()) {
    if (sort === 'created' && issues.length >= limit) break;
    const issue = await readIssue(folder, number);
    if (issue === null || (state !== 'all' && issue.state !== state)) continue;
    if (!hasLabel(issue, filter)) continue;
    issues.push({ ...issue, body: shortenedBody(issue.body) });
  }
  if (sort === 'updated') issues.sort((a, b) => Date.parse(b.updated_at) - Date.parse(a.updated_at));
  return issues.slice(0, limit);
}

/** Oldest first. */
export async function readComments(folder: RepositoryFolder, number: number): Promise<Comment[]> {
  const comments: Comment[] = [];
  const directory = join(folder.path, 'comments', String(number));
  for (const name of (await entriesOf(directory)).sort()) {
    if (!/^[0-9]{1,19}\.json$/.test(name)) continue;
    const record = await readRecord(CommentRecord, join(directory, name));
    if (record !== null) comments.push({ ...record, body: shortenedBody(record.body), html_url: null });
  }
  return comments.sort(
    (a, b) => Date.parse(a.created_at) - Date.parse(b.created_at) || Number(a.id) - Number(b.id),
  );
}

/** null where there is no such pull request. */
export async function readPullRequest(folder: RepositoryFolder, number: number): Promise<PullRequest | null> {
  const record = await readRecord(PullRequestRecord, pullPath(folder, number));
  return record === null ? null : pullRequestOf(folder, record);
}

/** Newest first; with `head`, those from that branch. */
export async function readPullRequests(folder: RepositoryFolder, head?: string): Promise<PullRequest[]> {
  const pulls: PullRequest[] = [];
  for (const number of (await recordNumbers(join(folder.path, 'pulls'))).reverse()) {
    const record = await readRecord(PullRequestRecord, pullPath(folder, number));
    if (record === null || (head !== undefined && record.head !== head)) continue;
    pulls.push(await pullRequestOf(folder, record));
  }
  return pulls;
}

async function pullRequestOf(folder: RepositoryFolder, record: PullRequestRecord): Promise<PullRequest> {
  const { number } = record;
  const end = await readRecord(EndRecord, endPath(folder, 'pulls', number));
  const remembered = await rememberedHead(folder.bare, number);
  const head = end === null ? ((await branchCommit(folder.bare, record.head)) ?? remembered) : remembered;
  return { ...record, state: end?.state ?? 'open', head_commit: head, html_url: null };
}

export function issuePath(folder: RepositoryFolder, number: number): string {
  return join(folder.path, 'issues', `${number}.json`);
}

export function pullPath(folder: RepositoryFolder, number: number): string {
  return join(folder.path, 'pulls', `${number}.json`);
}

export function endPath(folder: RepositoryFolder, kind: 'issues' | 'pulls', number: number): string {
  return join(folder.path, kind, `${number}.closed.json`);
}

export function commentPath(folder: RepositoryFolder, number: number, id: string): string {
  return join(folder.path, 'comments', String(number), `${id}.json`);
}

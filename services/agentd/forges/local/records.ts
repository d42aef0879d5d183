import { join } from 'node:path';
import * as t from 'io-ts';
import { nullable, oneOf, Timestamp } from '#kit/decode.ts';
import { sha256 } from '#kit/digest.ts';
import {
  type Author,
  associations,
  type Comment,
  type Issue,
  type IssueFilter,
  type PullRequest,
  type RepositoryRef,
} from '../../ports/forge.ts';
import { hasLabel, shortenedBody } from '../filters.ts';
import { checkNumber } from '../names.ts';
import { noLocalIssue, noPullRequest } from '../not-there.ts';
import { headCommits } from './bare-repository.ts';
import {
  entriesOf,
  type ForgeFolder,
  type RepositoryFolder,
  readRecord,
  recordNumbers,
  writeRecordOnce,
} from './forge-folder.ts';

/** The files of the local forge. People may read them, and edit what they like: each is decoded when it is read. */

/** Of every text that somebody wrote. */
const written = {
  body: t.string,
  author: t.strict({ login: t.string, association: oneOf(associations), bot: t.boolean }),
  created_at: Timestamp,
};

/** `issues/<n>.json` */
export const IssueRecord = t.strict({
  ...written,
  number: t.number,
  title: t.string,
  locked: t.boolean,
  labels: t.array(t.string),
});
export type IssueRecord = t.TypeOf<typeof IssueRecord>;

/** `comments/<n>/<id>.json` */
export const CommentRecord = t.strict({ ...written, id: t.string });
export type CommentRecord = t.TypeOf<typeof CommentRecord>;

/** `pulls/<n>.json` */
export const PullRequestRecord = t.strict({
  ...written,
  number: t.number,
  title: t.string,
  head: t.string,
  base: t.string,
});
export type PullRequestRecord = t.TypeOf<typeof PullRequestRecord>;

/** `issues/<n>.closed.json` and `pulls/<n>.closed.json`: how it ended. Made once, so that two endings cannot mix. */
export const EndRecord = t.strict({
  state: oneOf(['closed', 'merged']),
  by: t.string,
  at: Timestamp,
  /** The commit that the base branch was moved to; null when nothing was merged. */
  commit: nullable(t.string),
});
export type EndRecord = t.TypeOf<typeof EndRecord>;

/** null where there is no such issue. */
export async function readIssue(folder: RepositoryFolder, number: number): Promise<Issue | null> {
  const record = await readRecord(IssueRecord, recordPath(folder, 'issues', number));
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

/** @throws NotFound `issue_not_found` */
export async function openIssue(
  files: ForgeFolder,
  ref: RepositoryRef,
  number: number,
): Promise<{ folder: RepositoryFolder; issue: Issue }> {
  checkNumber(number);
  const folder = await files.open(ref);
  const issue = await readIssue(folder, number);
  if (issue === null) throw noLocalIssue(files.name, ref, number);
  return { folder, issue };
}

/** @throws NotFound `pull_request_not_found` */
export async function openPull(
  files: ForgeFolder,
  ref: RepositoryRef,
  number: number,
): Promise<{ folder: RepositoryFolder; pull: PullRequest }> {
  checkNumber(number);
  const folder = await files.open(ref);
  const record = await readRecord(PullRequestRecord, recordPath(folder, 'pulls', number));
  if (record === null) throw noPullRequest(files.name, ref, number);
  const [pull] = await pullRequestsOf(folder, [record]);
  return { folder, pull: pull! };
}

/** Newest first; with `head`, those from that branch. */
export async function readPullRequests(folder: RepositoryFolder, head?: string): Promise<PullRequest[]> {
  const records: PullRequestRecord[] = [];
  for (const number of (await recordNumbers(join(folder.path, 'pulls'))).reverse()) {
    const record = await readRecord(PullRequestRecord, recordPath(folder, 'pulls', number));
    if (record !== null && (head === undefined || record.head === head)) records.push(record);
  }
  return pullRequestsOf(folder, records);
}

/** `heads/<sha256 of the branch>.<n>.json`: whose the next pull request of a branch is after number `n`. */
const ClaimRecord = t.strict({ number: t.number });

/**
 * The number of the next pull request from a branch, the same for everybody who saw the same pull requests from it: of two that open
 * one at the same time, only one writes its record. Who finds the claim of a process that ended writes the record in its place.
 * @param last number of the newest one from this branch, 0 without one
 */
export async function claimHead(
  folder: RepositoryFolder,
  head: string,
  last: number,
  number: number,
): Promise<number> {
  const path = join(folder.path, 'heads', `${sha256(head)}.${last}.json`);
  if (await writeRecordOnce(path, { number })) return number;
  const claim = await readRecord(ClaimRecord, path);
  return claim?.number ?? number;
}

async function pullRequestsOf(
  folder: RepositoryFolder,
  records: readonly PullRequestRecord[],
): Promise<PullRequest[]> {
  const ends = await Promise.all(
    records.map(({ number }) => readRecord(EndRecord, endPath(folder, 'pulls', number))),
  );
  const commits = await headCommits(folder.bare, records);
  return records.map((record, index) => {
    const end = ends[index]!;
    const { branch, remembered } = commits[index]!;
    const head_commit = end === null ? (branch ?? remembered) : remembered;
    return { ...record, state: end?.state ?? 'open', head_commit, html_url: null };
  });
}

type Kind = 'issues' | 'pulls';

export function recordPath({ path }: RepositoryFolder, kind: Kind, number: number): string {
  return join(path, kind, `${number}.json`);
}

export function endPath({ path }: RepositoryFolder, kind: Kind, number: number): string {
  return join(path, kind, `${number}.closed.json`);
}

export function commentPath({ path }: RepositoryFolder, number: number, id: string): string {
  return join(path, 'comments', String(number), `${id}.json`);
}

let lastId = 0;

/** The id of a comment is the microsecond of its creation: growing, and never given twice. */
export async function writeComment(
  folder: RepositoryFolder,
  number: number,
  body: string,
  author: Author,
): Promise<Comment> {
  const created = new Date();
  for (;;) {
    lastId = Math.max(lastId + 1, created.getTime() * 1000);
    const record: CommentRecord = { id: String(lastId), body, author, created_at: created.toISOString() };
    if (await writeRecordOnce(commentPath(folder, number, record.id), record))
      return { ...record, html_url: null };
  }
}

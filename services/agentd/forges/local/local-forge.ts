import { constants, existsSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { join, matchesGlob } from 'node:path';
import * as t from 'io-ts';
import { NonEmptyString, oneOf, optional } from '#kit/decode.ts';
import { messageOf, Refused } from '#kit/errors.ts';
import { type ForgeKind, traitsOf } from '#kit/forges/registry.ts';
import type { Permit } from '#kit/permit.ts';
import { addressOf } from '../../git/remote-address.ts';
import type {
  Access,
  Account,
  Author,
  ChangedIssue,
  ChangeFilter,
  Comment,
  Issue,
  IssueFilter,
  Protection,
  PullRequest,
  PullRequestOutcome,
  Repository,
  RepositoryRef,
  Right,
} from '../../ports/forge.ts';
import type { ForgeFacts } from '../../ports/forge-report.ts';
import { archived, mayNotPush, mayPublish, noRight, rightToWrite, rightUnknown } from '../access.ts';
import type { ConfiguredForge, ForgeFolders, Located } from '../configured-forge.ts';
import { since, wholeBody, wholeSecond } from '../filters.ts';
import { checkBranch, checkCommentId, checkNumber, nameOf } from '../names.ts';
import { noComment, noLocalIssue, pullRequestInstead, pullRequestMerged } from '../not-there.ts';
import type { NewPull } from '../remote-forge.ts';
import { commonSettings, type ForgeAdapter, within } from '../settings.ts';
import { branchBehind, isAncestor, neededBranches, rememberHead } from './bare-repository.ts';
import {
  ForgeFolder,
  type RepositoryFolder,
  readRecord,
  removeRecord,
  reserveNumber,
  writeRecordOnce,
} from './forge-folder.ts';
import {
  CommentRecord,
  claimHead,
  commentPath,
  EndRecord,
  endPath,
  openPull,
  type PullRequestRecord,
  readComments,
  readIssue,
  readIssues,
  readPullRequests,
  recordPath,
  writeComment,
} from './records.ts';

const LocalSettings = t.strict({
  ...commonSettings,
  /** Which adapter serves it: a folder, github.com or Enterprise, Gitea or Forgejo. */
  kind: oneOf(['local']),
  /** Relative to the state folder. Default `forge`. */
  root: optional(NonEmptyString),
});

export const local: ForgeAdapter<typeof LocalSettings> = {
  settings: LocalSettings,
  create: (settings, { folders }) => new LocalForge(...placeOf(settings, folders)),
};

/** Its folder, and the account that Core has there. */
export function placeOf(
  { name, root, account = 'core' }: t.TypeOf<typeof LocalSettings>,
  { stateDir }: ForgeFolders,
): [ForgeFolder, string] {
  return [new ForgeFolder(name, within(stateDir, root ?? traitsOf('local').default_root!)), account];
}

/** A forge in a folder: the embedded default, and a way to work without an account anywhere. */
export class LocalForge implements ConfiguredForge {
  readonly kind: ForgeKind = 'local';
  readonly deadline_ms = 0;
  readonly name: string;
  readonly url: string;
  readonly #folder: ForgeFolder;
  readonly #account: string;

  /** @param account as which Core itself acts here */
  constructor(folder: ForgeFolder, account: string) {
    this.name = folder.name;
    this.url = folder.root;
    this.#folder = folder;
    this.#account = account;
  }

  locate(url: string, folder: string): Located | null {
    const at = addressOf(url, folder);
    const root = addressOf(this.#folder.root, '/')!.path;
    const found =
      at?.transport === 'local' && at.path.startsWith(`${root}/`)
        ? /^([^/]+)\/([^/]+)\/repository\.git$/.exec(at.path.slice(root.length + 1))
        : null;
    return found === null ? null : { owner: found[1]!, repo: found[2]!, number: null };
  }

  missing(): null {
    return null;
  }

  async repository(ref: RepositoryRef): Promise<Repository> {
    const { bare, record } = await this.#folder.open(ref);
    return {
      owner: record.owner,
      repo: record.repo,
      repository_id: record.repository_id,
      default_branch: record.default_branch,
      clone_url: bare,
      push_url: bare,
      html_url: null,
      archived: record.archived,
      access: record.archived ? archived : await writable(bare),
      forge_time: new Date().toISOString(),
    };
  }

  async issue(ref: RepositoryRef, number: number): Promise<Issue> {
    checkNumber(number);
    const folder = await this.#folder.open(ref);
    const issue = await readIssue(folder, number);
    if (issue !== null) return { ...issue, body: wholeBody(issue.body, nameOf(ref, number)) };
    if (existsSync(recordPath(folder, 'pulls', number))) throw pullRequestInstead(ref, number);
    throw noLocalIssue(this.name, ref, number);
  }

  async comments(ref: RepositoryRef, number: number, options: { since?: string } = {}): Promise<Comment[]> {
    const folder = await this.#commentable(ref, number);
    return (await readComments(folder, number)).filter(since(options.since));
  }

  async listIssues(ref: RepositoryRef, options: IssueFilter): Promise<Issue[]> {
    return readIssues(await this.#folder.open(ref), options);
  }

  /** Nothing is opened again here. */
  async changedIssues(ref: RepositoryRef, { since: from, limit }: ChangeFilter): Promise<ChangedIssue[]> {
    const time = Date.parse(wholeSecond(from));
    const folder = await this.#folder.open(ref);
    const all = await readIssues(folder, { state: 'all', sort: 'updated', limit: Number.POSITIVE_INFINITY });
    return all
      .filter(({ updated_at }) => Date.parse(updated_at) >= time)
      .reverse()
      .slice(0, limit)
      .map(({ locked, author, ...issue }) => ({ ...issue, author: author.login, reopened_at: null }));
  }

  async protection(ref: RepositoryRef, branch: string): Promise<Protection> {
    checkBranch(branch);
    const { bare, record } = await this.#folder.open(ref);
    const reason = await this.#whyProtected(bare, record, branch);
    return { protected: reason !== null, reason: reason ?? '', rules: [], unread: null };
  }

  async #whyProtected(
    bare: string,
    { default_branch, protected_branches }: RepositoryFolder['record'],
    branch: string,
  ): Promise<string | null> {
    const real = await branchBehind(bare, branch);
    if (real !== null) return `it is another name of ${real}`;
    if (branch === default_branch) return 'default branch';
    const rule = protected_branches.find((glob) => matchesGlob(branch, glob));
    return rule === undefined ? null : `rule ${rule} in repository.json`;
  }

  async findPullRequests(ref: RepositoryRef, branch: string): Promise<PullRequest[]> {
    checkBranch(branch);
    return readPullRequests(await this.#folder.open(ref), branch);
  }

  /** Nothing checks a commit here. */
  async pullRequest(ref: RepositoryRef, number: number): Promise<PullRequestOutcome> {
    const { folder, pull } = await openPull(this.#folder, ref, number);
    const end = await readRecord(EndRecord, endPath(folder, 'pulls', number));
    return { ...pull, ended_at: end?.at ?? null, checks: 'none', failed_checks: [] };
  }

  /** By how they stand in the newest text that they wrote in the repository: this forge knows nothing else of people. */
  async right(ref: RepositoryRef, login: string): Promise<Right> {
    const folder = await this.#folder.open(ref);
    const issues = await readIssues(folder, { state: 'all', limit: Number.POSITIVE_INFINITY });
    const comments = await Promise.all(issues.map(({ number }) => readComments(folder, number)));
    const [newest] = [...issues, ...comments.flat()]
      .filter(({ author }) => author.login === login)
      .sort((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at));
    if (newest === undefined)
      return rightUnknown(
        `forge '${this.name}' has no issue or comment of ${JSON.stringify(login)} in ${nameOf(ref)}`,
      );
    const { association, bot } = newest.author;
    const writes = ['owner', 'member', 'collaborator'].includes(association) && !bot;
    return writes ? rightToWrite : noRight;
  }

  async self(): Promise<Account> {
    return { login: this.#account, id: this.#account };
  }

  async examine(): Promise<ForgeFacts> {
    return { account: null, scopes: null, lacking: [], unanswered: [], clock_ahead_s: null };
  }

  async gitCredential(): Promise<null> {
    return null;
  }

  async openPullRequest(
    ref: RepositoryRef,
    { title, body, head, base }: NewPull,
    permit?: Permit,
  ): Promise<PullRequest> {
    checkBranch(head);
    checkBranch(base);
    const folder = await this.#folder.open(ref);
    this.#refuseArchived(folder);
    const [headCommit, baseCommit] = await neededBranches(folder.bare, [head, base]);
    if (await isAncestor(folder.bare, headCommit, baseCommit)) {
      throw new Refused('forge_refused', `branch ${head} has nothing that ${base} has not`);
    }
    const earlier = await readPullRequests(folder, head);
    const open = earlier.find(({ state }) => state === 'open');
    if (open !== undefined) throw openAlready(ref, open);
    const reserved = await reserveNumber(folder.path);
    permit?.require();
    const number = await claimHead(folder, head, earlier[0]?.number ?? 0, reserved);
    const record: PullRequestRecord = {
      number,
      title,
      body,
      head,
      base,
      author: this.#author(),
      created_at: new Date().toISOString(),
    };
    await rememberHead(folder.bare, number, headCommit);
    if (!(await writeRecordOnce(recordPath(folder, 'pulls', number), record))) throw openAlready(ref, record);
    return { ...record, state: 'open', head_commit: headCommit, html_url: null };
  }

  async closePullRequest(ref: RepositoryRef, number: number, permit?: Permit): Promise<void> {
    const { folder, pull } = await openPull(this.#folder, ref, number);
    if (pull.state === 'merged') throw pullRequestMerged(ref, number);
    if (pull.state === 'closed') return;
    if (pull.head_commit !== null) await rememberHead(folder.bare, number, pull.head_commit);
    permit?.require();
    const end: EndRecord = { state: 'closed', by: this.#account, at: new Date().toISOString(), commit: null };
    if (await writeRecordOnce(endPath(folder, 'pulls', number), end)) return;
    return this.closePullRequest(ref, number, permit);
  }

  async comment(ref: RepositoryRef, number: number, body: string, permit?: Permit): Promise<Comment> {
    const folder = await this.#commentable(ref, number);
    this.#refuseArchived(folder);
    const issue = await readIssue(folder, number);
    if (issue?.locked)
      throw new Refused('forge_refused', `${nameOf(ref, number)} is locked: nobody can comment on it`);
    permit?.require();
    return writeComment(folder, number, body, this.#author());
  }

  async deleteComment(ref: RepositoryRef, number: number, id: string, permit?: Permit): Promise<void> {
    checkCommentId(id);
    const folder = await this.#commentable(ref, number);
    const path = commentPath(folder, number, id);
    const comment = await readRecord(CommentRecord, path);
    if (comment === null) throw noComment(this.name, ref, number, id);
    if (comment.author.login !== this.#account) {
      throw new Refused(
        'forge_refused',
        `comment ${id} on ${nameOf(ref, number)} is by ${comment.author.login}`,
      );
    }
    permit?.require();
    await removeRecord(path);
  }

  /** Comments belong to issues and to pull requests. */
  async #commentable(ref: RepositoryRef, number: number): Promise<RepositoryFolder> {
    checkNumber(number);
    const folder = await this.#folder.open(ref);
    if (existsSync(recordPath(folder, 'issues', number)) || existsSync(recordPath(folder, 'pulls', number)))
      return folder;
    throw noLocalIssue(this.name, ref, number);
  }

  #refuseArchived({ record }: RepositoryFolder): void {
    if (!record.archived) return;
    throw new Refused('forge_refused', `repository ${nameOf(record)} is archived: it can only be read`);
  }

  #author(): Author {
    return { login: this.#account, association: 'member', bot: true };
  }
}

function openAlready(ref: RepositoryRef, { number, head }: Pick<PullRequest, 'number' | 'head'>): Refused {
  return new Refused('forge_refused', `pull request ${nameOf(ref, number)} from ${head} is open already`, {
    facts: { number },
  });
}

/** True if this process may write to the repository: pushes go there. */
async function writable(bare: string): Promise<Access> {
  try {
    for (const folder of ['objects', 'refs']) await access(join(bare, folder), constants.W_OK);
    return mayPublish;
  } catch (error) {
    return mayNotPush(`${bare} cannot be written: ${messageOf(error)}`);
  }
}

import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { decode, oneOf } from '#kit/decode.ts';
import { syncFolder } from '#kit/durable-file.ts';
import { Conflict, codeOf, InvalidInput } from '#kit/errors.ts';
import { type SecretFinder, secretFinder } from '#kit/redaction/secret-finder.ts';
import {
  type Author,
  associations,
  type Comment,
  type Issue,
  type PullRequest,
  type RepositoryRef,
} from '../../ports/forge.ts';
import { maskedAnswer } from '../masked-forge.ts';
import { nameOf } from '../names.ts';
import {
  copyBranches,
  initBare,
  inspectSource,
  mergeBranch,
  patchSince,
  rememberHead,
} from './bare-repository.ts';
import {
  type ForgeFolder,
  type RepositoryRecord,
  readRecord,
  reserveNumber,
  writeRecord,
  writeRecordOnce,
  writing,
} from './forge-folder.ts';
import {
  EndRecord,
  endPath,
  type IssueRecord,
  openIssue,
  openPull,
  readIssue,
  readIssues,
  readPullRequests,
  recordPath,
  writeComment,
} from './records.ts';

type State = 'open' | 'closed' | 'all';

/** What people do on the local forge by hand: make repositories, write issues and comments, merge pull requests. */
export class LocalForgeAdmin {
  readonly #folder: ForgeFolder;
  readonly #account: string;
  readonly #secrets: SecretFinder;

  /** @param account Core's own, which no person can write under */
  constructor(folder: ForgeFolder, account: string, secrets: SecretFinder = secretFinder([])) {
    this.#folder = folder;
    this.#account = account;
    this.#secrets = secrets;
  }

  /**
   * Makes a repository, empty or with the branches and tags of the git repository `from`.
   * @throws Conflict `repository_exists`, InvalidInput `source_not_a_repository`, `source_is_shallow`, `source_is_empty`
   */
  async init(request: RepositoryRef & { readonly from: string | null }): Promise<{
    clone_url: string;
    default_branch: string;
    folder: string;
  }> {
    const { owner, repo, from } = request;
    const path = this.#folder.pathOf(request);
    const empty = { default_branch: 'main', object_format: 'sha1' };
    const { default_branch, object_format } = from === null ? empty : await inspectSource(from);
    const record: RepositoryRecord = {
      repository_id: randomUUID(),
      owner,
      repo,
      default_branch,
      protected_branches: [],
      archived: false,
      created_at: new Date().toISOString(),
    };
    // Built beside its place and moved there whole: a crash leaves no half repository.
    const draft = join(dirname(path), `.${basename(path)}.${process.pid}.draft`);
    await writing(draft, () => {});
    try {
      await rm(draft, { recursive: true, force: true });
      await mkdir(join(draft, 'numbers'), { recursive: true, mode: 0o700 });
      const bare = join(draft, 'repository.git');
      await initBare(bare, default_branch, object_format);
      if (from !== null) await copyBranches(from, bare);
      await writeRecord(join(draft, 'repository.json'), record);
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error;
      throw new Conflict('repository_exists', `${path} exists already`, {
        cause: error,
        hint: 'choose another owner or repository name',
      });
    }
    syncFolder(dirname(path));
    return { clone_url: join(path, 'repository.git'), default_branch, folder: path };
  }

  async newIssue(
    request: RepositoryRef & {
      readonly title: string;
      readonly body: string;
      readonly author: string;
      readonly association: string;
      readonly labels?: readonly string[];
      /** A locked issue takes no comments. */
      readonly locked?: boolean;
    },
  ): Promise<Issue> {
    const { title, body, labels = [], locked = false } = request;
    if (title.trim() === '')
      throw new InvalidInput('invalid_title', 'the title of an issue must not be empty');
    const author = this.#person(request.author, request.association);
    const folder = await this.#folder.open(request);
    const number = await reserveNumber(folder.path);
    const created = new Date().toISOString();
    const record: IssueRecord = {
      number,
      title,
      body,
      locked,
      labels: [...labels],
      author,
      created_at: created,
    };
    await writeRecord(recordPath(folder, 'issues', number), record);
    return this.#masked({ ...record, state: 'open', updated_at: created, html_url: null });
  }

  async listIssues(ref: RepositoryRef, state: State): Promise<readonly Issue[]> {
    const issues = await readIssues(await this.#folder.open(ref), { state, limit: Number.POSITIVE_INFINITY });
    return issues.map((issue) => this.#masked(issue));
  }

  async closeIssue(ref: RepositoryRef, number: number, by: string): Promise<void> {
    const { folder } = await openIssue(this.#folder, ref, number);
    const end: EndRecord = { state: 'closed', by, at: new Date().toISOString(), commit: null };
    await writeRecordOnce(endPath(folder, 'issues', number), end);
  }

  async comment(
    request: RepositoryRef & {
      readonly number: number;
      readonly body: string;
      readonly author: string;
      readonly association: string;
    },
  ): Promise<Comment> {
    const author = this.#person(request.author, request.association);
    const { folder, issue } = await openIssue(this.#folder, request, request.number);
    if (issue.locked) throw new Conflict('issue_locked', `${nameOf(request, request.number)} is locked`);
    return this.#masked(await writeComment(folder, request.number, request.body, author));
  }

  async listPullRequests(ref: RepositoryRef, state: State): Promise<readonly PullRequest[]> {
    const pulls = await readPullRequests(await this.#folder.open(ref));
    return pulls
      .filter((pull) => state === 'all' || (pull.state === 'open') === (state === 'open'))
      .map((pull) => this.#masked(pull));
  }

  /** The patch is given byte for byte. */
  async pullRequest(ref: RepositoryRef, number: number): Promise<{ pull: PullRequest; patch: Uint8Array }> {
    const { folder, pull: written } = await openPull(this.#folder, ref, number);
    const pull = this.#masked(written);
    const end = await readRecord(EndRecord, endPath(folder, 'pulls', number));
    if (pull.head_commit === null) return { pull, patch: new Uint8Array() };
    // After a merge the base contains the head; its state before is the merge's first parent.
    const merged = end?.commit ?? null;
    const base = merged === null ? `refs/heads/${pull.base}` : `${merged}^1`;
    return { pull, patch: await patchSince(folder.bare, base, pull.head_commit) };
  }

  /** @throws Conflict `pull_request_not_open`, `merge_conflict`, `base_moved`; NotFound `branch_not_found` */
  async mergePullRequest(
    ref: RepositoryRef,
    number: number,
    by = 'core-forge',
  ): Promise<{ commit: string; into: string }> {
    const { folder, pull } = await openPull(this.#folder, ref, number);
    if (pull.state !== 'open') {
      throw new Conflict('pull_request_not_open', `pull request ${nameOf(ref, number)} is ${pull.state}`);
    }
    const at = new Date().toISOString();
    if (pull.head_commit !== null) await rememberHead(folder.bare, number, pull.head_commit);
    const message = `Merge pull request #${number} from ${pull.head}\n\n${pull.title}\n`;
    const { commit, made } = await mergeBranch(folder.bare, {
      head: pull.head,
      base: pull.base,
      message,
      by,
      at,
    });
    // The merge is in git now: that is what counts, even if somebody closed the pull request meanwhile.
    const end: EndRecord = { state: 'merged', by, at, commit: made ? commit : null };
    await writeRecord(endPath(folder, 'pulls', number), end);
    for (const closed of closedBy(pull.body)) {
      if ((await readIssue(folder, closed)) === null) continue;
      await writeRecordOnce(endPath(folder, 'issues', closed), { state: 'closed', by, at, commit: null });
    }
    return { commit, into: pull.base };
  }

  #masked<T extends object>(answer: T): T {
    return maskedAnswer(this.#secrets, answer, `answer of forge '${this.#folder.name}'`);
  }

  #person(login: string, association: string): Author {
    if (!/^[\p{L}\p{N}_][\p{L}\p{N} _.@+[\]-]{0,99}$/u.test(login)) {
      throw new InvalidInput(
        'invalid_author',
        `author '${login.slice(0, 80)}' is not a name; for example mira`,
      );
    }
    if (login.toLowerCase() === this.#account.toLowerCase()) {
      throw new InvalidInput(
        'invalid_author',
        `author '${login}' is Core's own account here; people write under another name`,
      );
    }
    return { login, association: decode(oneOf(associations), association, 'association'), bot: false };
  }
}

/** Numbers of the issues that a pull request closes: `Closes #7` on a line of its own, as forges read it. */
function closedBy(body: string): number[] {
  return [...body.matchAll(/^(?:closes|fixes|resolves) #([1-9]\d{0,8})\s*$/gim)].map(([, number]) =>
    Number(number),
  );
}

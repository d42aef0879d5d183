import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConfiguredForge } from '../../services/agentd/forges/configured-forge.ts';
import { GiteaForge } from '../../services/agentd/forges/gitea/gitea-forge.ts';
import { GitHubForge } from '../../services/agentd/forges/github/github-forge.ts';
import { ForgeFolder } from '../../services/agentd/forges/local/forge-folder.ts';
import { LocalForge } from '../../services/agentd/forges/local/local-forge.ts';
import { LocalForgeAdmin } from '../../services/agentd/forges/local/local-forge-admin.ts';
import type { RepositoryRef } from '../../services/agentd/ports/forge.ts';
import { addBranch, deleteBranch, gitIn, makeBareRepository } from '../fixtures/forges/bare-repository.ts';
import type { ForgeServer } from '../fixtures/forges/forge-server.ts';
import type { ServedCheck, ServedRepository } from '../fixtures/forges/forge-state.ts';
import { startGiteaServer } from '../fixtures/forges/gitea-server.ts';
import { startGitHubServer } from '../fixtures/forges/github-server.ts';

/** A forge with one repository on it, and a way to do there what other people do. */
export interface ForgeBench {
  readonly forge: ConfiguredForge;
  readonly ref: RepositoryRef;
  /** Makes a branch with one commit on top of `main`, and gives the commit. */
  addBranch(branch: string, files: Record<string, string>): Promise<string>;
  deleteBranch(branch: string): Promise<void>;
  /** `mira` is a collaborator, anybody else a stranger. */
  issue(issue: {
    title: string;
    body: string;
    author: string;
    locked?: boolean;
    closed?: boolean;
    labels?: readonly string[];
  }): Promise<number>;
  comment(number: number, comment: { body: string; author: string }): Promise<void>;
  /** Closes an issue and opens it again; null where the forge cannot. */
  readonly reopen: ((number: number) => Promise<void>) | null;
  merge(pullNumber: number): Promise<void>;
  protect(glob: string): Promise<void>;
  /** Adds terms for a branch, or for those that a glob fits, which may be pushed to all the same; null where the forge has none. */
  readonly rule: ((branches: string, terms: RuleTermsOfBench) => Promise<void>) | null;
  archive(archived: boolean): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Makes another repository of the same owner, with a branch `main`. */
  make(repo: string): Promise<void>;
  remove(repo: string): Promise<void>;
  /** Whether our account may write from now on; null where that is whoever runs Core. */
  readonly letWrite: ((allowed: boolean) => Promise<void>) | null;
  /** Whether a lock keeps our account from commenting; Gitea's does not keep those who may write. */
  readonly lockHolds: boolean;
  /** Reports a check of a commit; null where the forge knows no checks. */
  readonly check: ((check: ServedCheck) => Promise<void>) | null;
  /** Where the forge's API was not used as its description says. */
  violations(): readonly string[];
  close(): Promise<void>;
}

export interface RuleTermsOfBench {
  readonly checks: readonly string[];
  readonly approvals: number;
  readonly signed: boolean;
  /** A glob that no push may change. */
  readonly files: string;
}

export interface RemoteBench extends ForgeBench {
  /** The repository's bare git repository, with a branch `main`. */
  readonly bare: string;
  readonly server: ForgeServer;
  readonly served: ServedRepository;
  /** The same forge with other settings. */
  again(options: Partial<RemoteSettings>): ConfiguredForge;
}

interface RemoteSettings {
  readonly name: string;
  readonly account: string | null;
  readonly timeout_ms: number;
  readonly retry_ms: number;
  readonly throttle: boolean;
  readonly token_file: string | null;
  readonly base_url: string;
  readonly clone_base_url: string | null;
}

const ref = { owner: 'demo', repo: 'hello' };

export async function localBench(): Promise<ForgeBench> {
  const folder = mkdtempSync(join(tmpdir(), 'core-forge-'));
  const source = makeBareRepository(folder);
  const files = new ForgeFolder('local', join(folder, 'forge'));
  const forgeAdmin = new LocalForgeAdmin(files, 'core');
  const made = await forgeAdmin.init({ ...ref, from: source });
  const associationOf = (author: string): string => (author === 'mira' ? 'collaborator' : 'none');
  return {
    forge: new LocalForge(files, 'core'),
    check: null,
    rule: null,
    reopen: null,
    lockHolds: true,
    ref,
    addBranch: async (branch, files) => addBranch(made.clone_url, branch, files),
    deleteBranch: async (branch) => deleteBranch(made.clone_url, branch),
    async issue({ title, body, author, locked = false, closed = false, labels = [] }) {
      const association = associationOf(author);
      const { number } = await forgeAdmin.newIssue({
        ...ref,
        title,
        body,
        author,
        association,
        locked,
        labels,
      });
      if (closed) await forgeAdmin.closeIssue(ref, number, author);
      return number;
    },
    async comment(number, { body, author }) {
      await forgeAdmin.comment({ ...ref, number, body, author, association: associationOf(author) });
    },
    async merge(number) {
      await forgeAdmin.mergePullRequest(ref, number, 'mira');
    },
    async protect(glob) {
      const { record } = await files.open(ref);
      const path = join(folder, 'forge', ref.owner, ref.repo, 'repository.json');
      writeFileSync(path, JSON.stringify({ ...record, protected_branches: [glob] }));
    },
    async archive(archived) {
      const { record } = await files.open(ref);
      const path = join(folder, 'forge', ref.owner, ref.repo, 'repository.json');
      writeFileSync(path, JSON.stringify({ ...record, archived }));
    },
    async rename(from, to) {
      renameSync(files.pathOf({ ...ref, repo: from }), files.pathOf({ ...ref, repo: to }));
    },
    make: async (repo) => void (await forgeAdmin.init({ ...ref, repo, from: source })),
    remove: async (repo) => rmSync(files.pathOf({ ...ref, repo }), { recursive: true }),
    letWrite: null,
    violations: () => [],
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

export async function githubBench(): Promise<RemoteBench> {
  return remoteBench(await startGitHubServer(), (options) => new GitHubForge(options), true);
}

export async function giteaBench(): Promise<RemoteBench> {
  return remoteBench(await startGiteaServer(), (options) => new GiteaForge(options), false);
}

function remoteBench(
  server: ForgeServer,
  create: (options: RemoteSettings) => ConfiguredForge,
  lockHolds: boolean,
): RemoteBench {
  const folder = mkdtempSync(join(tmpdir(), 'core-forge-'));
  const bare = makeBareRepository(folder);
  const { state } = server;
  const served = state.addRepository({ ...ref, bare, collaborators: ['mira', state.account] });
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, `${state.token}\n`);
  const again = (options: Partial<RemoteSettings>): ConfiguredForge =>
    create({
      name: 'remote',
      base_url: server.url,
      clone_base_url: 'file:///',
      token_file: tokenFile,
      account: null,
      timeout_ms: 5000,
      retry_ms: 1,
      throttle: false,
      ...options,
    });
  return {
    server,
    served,
    again,
    forge: again({}),
    check: async (check) => void served.checks.push(check),
    lockHolds,
    ref,
    bare,
    addBranch: async (branch, files) => addBranch(bare, branch, files),
    deleteBranch: async (branch) => deleteBranch(bare, branch),
    async issue({ title, body, author, locked = false, closed = false, labels = [] }) {
      const issue = state.addIssue(served, {
        labels,
        title,
        body,
        author,
        locked,
        state: closed ? 'closed' : 'open',
      });
      return issue.number;
    },
    async comment(number, comment) {
      state.addComment(served, { issue: number, ...comment });
    },
    async reopen(number) {
      const issue = served.issues.find((entry) => entry.number === number)!;
      issue.reopened_at = new Date().toISOString();
      issue.updated_at = issue.reopened_at;
    },
    async merge(number) {
      const pull = served.pulls.find((entry) => entry.number === number)!;
      gitIn(bare, ['update-ref', `refs/heads/${pull.base}`, pull.head_commit]);
      pull.state = 'closed';
      pull.merged_at = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
    },
    async protect(glob) {
      served.rules.push({ branches: glob, type: 'pull_request' });
    },
    async rule(branches, { checks, approvals, signed, files }) {
      const protection = {
        enable_push: true,
        ...{ enable_status_check: true, status_check_contexts: checks, required_approvals: approvals },
        ...{ require_signed_commits: signed, protected_file_patterns: files },
      };
      if (!lockHolds) return void served.rules.push({ branches, type: 'protection', protection });
      const required_status_checks = checks.map((context) => ({ context }));
      const reviews = {
        ...{ dismiss_stale_reviews_on_push: false, require_code_owner_review: false },
        ...{ require_last_push_approval: false, required_review_thread_resolution: false },
        required_approving_review_count: approvals,
      };
      const checking = {
        ...{ required_status_checks, strict_required_status_checks_policy: false },
        do_not_enforce_on_create: true,
      };
      served.rules.push(
        { branches, type: 'required_status_checks', parameters: checking },
        ...(approvals > 0 ? [{ branches, type: 'pull_request', parameters: reviews }] : []),
        ...(signed ? [{ branches, type: 'required_signatures' }] : []),
        { branches, type: 'file_path_restriction', parameters: { restricted_file_paths: [files] } },
      );
    },
    async archive(archived) {
      served.archived = archived;
    },
    async rename(from, to) {
      const renamed = state.find(ref.owner, from)!;
      renamed.former_names.push(`${ref.owner}/${from}`);
      renamed.repo = to;
    },
    async make(repo) {
      state.addRepository({ ...ref, repo, bare, collaborators: ['mira', state.account] });
    },
    async remove(repo) {
      state.repositories.splice(state.repositories.indexOf(state.find(ref.owner, repo)!), 1);
    },
    async letWrite(allowed) {
      const others = served.collaborators.filter((login) => login !== state.account);
      served.collaborators.splice(0, Infinity, ...others, ...(allowed ? [state.account] : []));
    },
    violations: () => state.violations,
    async close() {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

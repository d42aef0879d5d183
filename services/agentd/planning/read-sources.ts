import { crashPoint } from '#kit/crash-point.ts';
import { Refused, Unauthorized } from '#kit/errors.ts';
import type { MaskTally } from '#kit/redaction/secret-finder.ts';
import type { Target } from '../action.ts';
import { oneLine } from '../actions/published-texts.ts';
import type { Watch } from '../agent.ts';
import type { Mirror } from '../git/mirror.ts';
import { type TreeReader, treeReader } from '../git/tree.ts';
import type { Forge, Issue, Repository } from '../ports/forge.ts';
import { maskedEvents, type Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { type IssueText, issuePlace, type PlannedIssue, storedIssue, tallied } from './issue-text.ts';

/** What planning starts from: the issue as it was read, its secrets masked, and the repository at one commit. */
export interface Sources extends IssueText {
  readonly repository: Repository;
  readonly mirror: Mirror;
  /** Of the forge. */
  readonly where: Required<Pick<Target, 'forge_url' | 'account'>>;
  readonly base_commit: string;
  /** The files of that commit. */
  readonly base: TreeReader;
  readonly base_branch: string;
  /** Of the issue, when this planning or its resumption began. */
  readonly state: Issue['state'];
}

export interface SourcePorts {
  readonly store: RunStore;
  readonly forge: (name: string) => Forge;
  readonly mirror: (forge: string, repository: Repository) => Promise<Mirror>;
}

/** Reads issue and repository and records them; an interrupted planning gets what was recorded. */
export async function readSources(
  ports: SourcePorts,
  tally: MaskTally,
  run: Run,
  watch: Watch,
): Promise<Sources> {
  const { request } = run;
  const forge = ports.forge(request.forge);
  const { number } = request;
  const name = `${request.owner}/${request.repo}`;
  watch.progress({
    step: 'source',
    state: 'info',
    message: number === null ? `planning a task in ${name}` : `reading ${name}#${number} from ${forge.name}`,
  });
  const { owner, repo } = request;
  const { repository_id } = run.source ?? {};
  const repository = await forge.repository({ owner, repo, repository_id }, watch.signal);
  const mirror = await ports.mirror(forge.name, repository);
  if (run.source !== null) return readAgain(ports, run, forge, repository, mirror, watch);

  const { issue, comments } =
    number === null
      ? await taskOf(ports.store, tally, run)
      : {
          issue: await forge.issue(repository, number, watch.signal),
          comments: await forge.comments(repository, number, {}, watch.signal),
        };
  const text = tallied({ issue, comments }, tally);
  watch.progress({ step: 'source', state: 'info', message: `fetching ${name}` });
  await mirror.update(repository.clone_url, await forge.gitCredential(), watch.signal);
  const base_branch = repository.default_branch;
  const base_commit = await mirror.branchCommit(base_branch);
  if (base_commit === null) {
    throw new Refused(
      'repository_empty',
      `${name} has no commit on '${base_branch}'; push a first commit, then plan again`,
    );
  }
  await mirror.pin(run.run_id, base_commit);
  const { masked, ...clean } = text;
  const where = await whereIs(forge, watch.signal);
  const base = treeReader(mirror.dir, base_commit);
  const sources = { ...clean, repository, mirror, where, base_commit, base, base_branch, state: issue.state };
  await record(ports, tally, run, sources, masked);
  crashPoint('plan.source_read');
  return sources;
}

/** The task of a run in the form of an issue: its first line is the title, who asked for the plan its author. */
async function taskOf(
  store: RunStore,
  tally: MaskTally,
  { run_id, request, created_at }: Run,
): Promise<IssueText> {
  const task = request.task!;
  const text = Buffer.from(await store.artifact(run_id, task.content))
    .toString('utf8')
    .trim();
  const [first = '', ...rest] = text.split('\n');
  const title = oneLine(first, maxTitle);
  const issue: PlannedIssue = {
    number: null,
    title,
    body: title === first.trim() ? rest.join('\n').trim() : text,
    state: 'open',
    locked: false,
    // Whoever may approve is trusted with what is asked for; another token may pass on what an outsider wrote.
    author: { login: request.requested_by, association: task.trusted ? 'owner' : 'none', bot: false },
    labels: [],
    created_at,
    updated_at: created_at,
    html_url: null,
  };
  return { issue: tally.maskDeep(issue, issuePlace), comments: [] };
}

const maxTitle = 120;

/** Without a token planning can read what is public; who will act is then not part of what is approved. */
async function whereIs(forge: Forge, signal: AbortSignal): Promise<Sources['where']> {
  const account = await forge.self(signal).catch((error) => {
    if (error instanceof Unauthorized) return null;
    throw error;
  });
  return {
    forge_url: forge.url,
    account: account === null ? null : { login: account.login, id: account.id },
  };
}

async function record(
  { store }: SourcePorts,
  tally: MaskTally,
  run: Run,
  sources: Sources,
  masked: number,
): Promise<void> {
  const { issue, comments, repository, base_commit, base_branch } = sources;
  const text = JSON.stringify({ issue, comments, masked }, null, 2);
  const content = await store.putArtifact(run.run_id, `${text}\n`);
  await store.append(run.run_id, (now) => [
    ...maskedEvents(now, tally.found),
    {
      type: 'source_read',
      data: {
        issue: {
          title: issue.title,
          author: issue.author.login,
          association: issue.author.association,
          state: issue.state,
          html_url: issue.html_url,
          comments: comments.length,
          content,
        },
        repository_id: repository.repository_id,
        html_url: repository.html_url,
        clone_url: repository.clone_url,
        push_url: repository.push_url,
        base_branch,
        base_commit,
        forge_time: repository.forge_time,
      },
    },
  ]);
}

async function readAgain(
  { store }: SourcePorts,
  run: Run,
  forge: Forge,
  repository: Repository,
  mirror: Mirror,
  watch: Watch,
): Promise<Sources> {
  const { base_branch, base_commit, issue } = run.source!;
  const stored = await storedIssue(store, run.run_id, issue.content);
  if (!(await mirror.has(base_commit))) {
    await mirror.update(repository.clone_url, await forge.gitCredential(), watch.signal);
  }
  await mirror.pin(run.run_id, base_commit);
  const { number } = run.request;
  const { state } = number === null ? stored.issue : await forge.issue(repository, number, watch.signal);
  const base = treeReader(mirror.dir, base_commit);
  const read = { issue: stored.issue, comments: stored.comments, base_branch, base_commit, base, state };
  return { ...read, repository, mirror, where: await whereIs(forge, watch.signal) };
}

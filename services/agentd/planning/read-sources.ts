import { crashPoint } from '#kit/crash-point.ts';
import { decodeJson } from '#kit/decode.ts';
import { Refused } from '#kit/errors.ts';
import type { Watch } from '../agent.ts';
import type { Mirror } from '../git/mirror.ts';
import type { Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import type { Forge, Repository } from './forge.ts';
import { type IssueText, maskSecrets, StoredIssue, withoutSecretNames } from './issue-text.ts';
import type { SecretFinder } from './secrets.ts';

/** What planning starts from: the issue as it was read, and the repository at one commit. */
export interface Sources extends IssueText {
  readonly repository: Repository;
  readonly mirror: Mirror;
  readonly base_commit: string;
  readonly base_branch: string;
}

export interface SourcePorts {
  readonly store: RunStore;
  readonly forge: (name: string) => Forge;
  readonly mirror: (forge: string, repository: Repository) => Promise<Mirror>;
  readonly secrets: SecretFinder;
}

/** Reads issue and repository and records them; an interrupted planning gets what was recorded. */
export async function readSources(ports: SourcePorts, run: Run, watch: Watch): Promise<Sources> {
  const { request } = run;
  const forge = ports.forge(request.forge);
  const name = `${request.owner}/${request.repo}`;
  watch.progress({
    step: 'source',
    state: 'info',
    message: `reading ${name}#${request.number} from ${forge.name}`,
  });
  const repository = await forge.repository(request, watch.signal);
  const mirror = await ports.mirror(forge.name, repository);
  if (run.source !== null) return readAgain(ports, run, forge, repository, mirror, watch);

  const read = await forge.issue(repository, request.number, watch.signal);
  // Bodies stay as they are, so that a secret in a patch is seen and refused.
  const issue = withoutSecretNames(read, (text) => ports.secrets.mask(text));
  const comments = await forge.comments(repository, request.number, {}, watch.signal);
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
  const sources = { issue, comments, repository, mirror, base_commit, base_branch };
  await record(ports, run, sources);
  crashPoint('plan.source_read');
  return sources;
}

async function record({ store, secrets }: SourcePorts, run: Run, sources: Sources): Promise<void> {
  const { issue, comments, repository, base_commit, base_branch } = sources;
  const text = maskSecrets({ issue, comments }, (value) => secrets.mask(value));
  const content = await store.putArtifact(run.run_id, `${JSON.stringify(text, null, 2)}\n`);
  await store.append(run.run_id, () => [
    {
      type: 'source_read',
      data: {
        issue: {
          title: text.issue.title,
          author: issue.author.login,
          association: issue.author.association,
          state: issue.state,
          html_url: issue.html_url,
          comments: comments.length,
          content,
        },
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
  const bytes = await store.artifact(run.run_id, issue.content);
  const stored = decodeJson(StoredIssue, Buffer.from(bytes).toString('utf8'), 'stored issue');
  if (stored.masked > 0) {
    throw new Refused(
      'planning_not_resumable',
      'the issue held secrets, which were masked in the record; plan the issue again',
    );
  }
  if (!(await mirror.has(base_commit))) {
    await mirror.update(repository.clone_url, await forge.gitCredential(), watch.signal);
  }
  await mirror.pin(run.run_id, base_commit);
  return { issue: stored.issue, comments: stored.comments, repository, mirror, base_branch, base_commit };
}

import type { ChangedIssues } from '#kit/contracts/issues.ts';
import { sha256 } from '#kit/digest.ts';
import { Refused } from '#kit/errors.ts';
import { maskedText } from '#kit/redaction/masked-text.ts';
import type { ChangedIssue, Forge, Issue, IssueFilter, RepositoryRef } from '../ports/forge.ts';
import type { RunStatus } from '../runs/run.ts';
import type { RunQuery, RunStore } from '../runs/run-store.ts';
import { isUnchanged } from './issue-text.ts';

export interface IssueQuery extends RepositoryRef {
  /** Name of a forge; left out, the one that knows the repository. */
  readonly forge?: string;
  readonly label?: string;
  readonly state: 'open' | 'closed' | 'all';
  readonly limit: number;
  /** Left out: by creation. */
  readonly sort?: NonNullable<IssueFilter['sort']>;
}

/** An issue with the newest run that planned it; a planning that failed counts only where there is no other run. */
export interface ListedIssue extends Issue {
  readonly planned: {
    readonly run_id: string;
    readonly at: string;
    readonly status: RunStatus;
    readonly unchanged: boolean;
  } | null;
}

/** With canonical names, after a rename was followed. */
export interface IssuePage extends RepositoryRef {
  readonly forge: string;
  readonly issues: readonly ListedIssue[];
}

export async function listIssues(ports: Ports, query: IssueQuery, signal: AbortSignal): Promise<IssuePage> {
  const { forge } = ports;
  const { owner, repo } = await forge.repository(query, signal);
  const { state, limit, label, sort = 'created' } = query;
  const filter = { state, limit, sort, ...(label === undefined ? {} : { label }) };
  const found = await forge.listIssues({ owner, repo }, filter, signal);
  const issues: ListedIssue[] = [];
  for (const issue of found) {
    const of = { owner, repo };
    const newest =
      (await newestRun(ports, of, issue.number, { without_failed_plannings: true })) ??
      (await newestRun(ports, of, issue.number));
    if (newest === null) {
      issues.push({ ...issue, planned: null });
      continue;
    }
    const { run_id, created_at: at, status } = newest;
    const unchanged =
      Date.parse(issue.updated_at) <= Date.parse(at) ||
      (await isUnchanged(ports, { owner, repo }, issue, run_id, signal));
    issues.push({ ...issue, planned: { run_id, at, status, unchanged } });
  }
  return { forge: forge.name, owner, repo, issues };
}

async function newestRun(
  { store, forge }: Ports,
  ref: RepositoryRef,
  number: number,
  query: Pick<RunQuery, 'without_failed_plannings'> = {},
) {
  const { runs } = await store.list({ forge: forge.name, ...ref, number, limit: 1, ...query });
  return runs[0] ?? null;
}

export interface ChangeQuery extends RepositoryRef {
  readonly forge?: string;
  /** RFC 3339, by the forge's clock. */
  readonly since: string;
}

interface Ports {
  readonly store: Pick<RunStore, 'list' | 'read' | 'artifact'>;
  readonly forge: Forge;
}

/** So many are listed at once, and so many at most where more than that changed within one second. */
const usualLimits = { first: 500, max: 16_000 };

/**
 * Issues that changed on a forge since a time, for those who missed its webhooks.
 * @throws Refused (`too_many_changes`), and what forges throw
 */
export async function changedIssues(
  ports: Ports,
  query: ChangeQuery,
  signal: AbortSignal,
  limits = usualLimits,
): Promise<ChangedIssues> {
  const { forge } = ports;
  const { owner, repo, forge_time } = await forge.repository(query, signal);
  const ref = { owner, repo };
  const { found, until, more } = await page({ forge, ref, since: query.since, forge_time }, limits, signal);
  const issues: ChangedIssues['issues'] = [];
  for (const issue of found) {
    const { body, labels, masked: _, ...rest } = issue;
    const planned_at = await plannedAt(ports, ref, issue, signal);
    // The bridge compares it with the digest of a webhook's text, in which released secrets are masked too.
    issues.push({ ...rest, labels: [...labels], body_sha256: sha256(maskedText(body)), planned_at });
  }
  return { forge: forge.name, ...ref, until, more, issues };
}

/** As many as there are, or so many that the last of them changed in a later second than was asked for. */
async function page(
  asked: { forge: Forge; ref: RepositoryRef; since: string; forge_time: string },
  limits: typeof usualLimits,
  signal: AbortSignal,
) {
  const { forge, ref, since, forge_time } = asked;
  for (let limit = limits.first; ; limit = Math.min(2 * limit, limits.max)) {
    const found = await forge.changedIssues(ref, { since, limit }, signal);
    if (found.length < limit) return { found, until: notAhead(forge_time), more: false };
    const until = notAhead(found.at(-1)!.updated_at);
    if (secondOf(until) > secondOf(since)) return { found, until, more: true };
    if (limit >= limits.max) throw tooMany(asked, limit);
  }
}

function tooMany({ forge, ref, since }: { forge: Forge; ref: RepositoryRef; since: string }, most: number) {
  const [second, next] = [0, 1].map((more) => new Date(1_000 * (secondOf(since) + more)).toISOString());
  return new Refused(
    'too_many_changes',
    `${most} issues or more of ${ref.owner}/${ref.repo} on forge '${forge.name}' changed in the second ${second}, which is more than can be listed at once`,
    {
      hint: `To leave them out: ./core bridge sync --repository ${ref.owner}/${ref.repo} --since ${next}`,
      facts: { limit: most },
    },
  );
}

/** Forges list by whole seconds. */
function secondOf(time: string): number {
  return Math.floor(Date.parse(time) / 1000);
}

/** A forge's clock may be wrong, and who asks from a time to come learns of nothing until then; asking twice is harmless. */
function notAhead(time: string): string {
  const now = Date.now();
  return Date.parse(time) > now ? new Date(now).toISOString() : time;
}

async function plannedAt(
  ports: Ports,
  ref: RepositoryRef,
  issue: ChangedIssue,
  signal: AbortSignal,
): Promise<string | null> {
  const newest = await newestRun(ports, ref, issue.number);
  if (newest === null || !(await isUnchanged(ports, ref, issue, newest.run_id, signal))) return null;
  const { source } = await ports.store.read(newest.run_id);
  return source?.forge_time ?? null;
}

import type { Forge, Issue, IssueFilter } from '../ports/forge.ts';
import type { RunStatus } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { isUnchanged } from './unchanged.ts';

export interface IssueQuery {
  readonly owner: string;
  readonly repo: string;
  /** Name of a forge; left out, the one that knows the repository. */
  readonly forge?: string;
  readonly label?: string;
  readonly state: 'open' | 'closed' | 'all';
  readonly limit: number;
  /** Left out: by creation. */
  readonly sort?: NonNullable<IssueFilter['sort']>;
}

/** An issue with the newest run that planned it. */
export interface ListedIssue extends Issue {
  readonly planned: {
    readonly run_id: string;
    readonly at: string;
    readonly status: RunStatus;
    readonly unchanged: boolean;
  } | null;
}

export interface IssuePage {
  readonly forge: string;
  /** Canonical names, after a rename was followed. */
  readonly owner: string;
  readonly repo: string;
  readonly issues: readonly ListedIssue[];
}

export async function listIssues(
  ports: { readonly store: Pick<RunStore, 'list' | 'read' | 'artifact'>; readonly forge: Forge },
  query: IssueQuery,
  signal: AbortSignal,
): Promise<IssuePage> {
  const { store, forge } = ports;
  const { owner, repo } = await forge.repository(query, signal);
  const { state, limit, label, sort = 'created' } = query;
  const filter = { state, limit, sort, ...(label === undefined ? {} : { label }) };
  const found = await forge.listIssues({ owner, repo }, filter, signal);
  const issues: ListedIssue[] = [];
  for (const issue of found) {
    const { runs } = await store.list({ forge: forge.name, owner, repo, number: issue.number, limit: 1 });
    const [newest] = runs;
    if (newest === undefined) {
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

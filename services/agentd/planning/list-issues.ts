import type { RunStatus } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import type { Forge, Issue } from './forge.ts';

export interface IssueQuery {
  readonly owner: string;
  readonly repo: string;
  /** Name of a forge; left out, the one that knows the repository. */
  readonly forge?: string;
  readonly label?: string;
  readonly state: 'open' | 'closed' | 'all';
  readonly limit: number;
}

/** An issue with the newest run that planned it. */
export interface ListedIssue extends Issue {
  readonly planned: { readonly run_id: string; readonly at: string; readonly status: RunStatus } | null;
}

export interface IssuePage {
  readonly forge: string;
  /** Canonical names, after a rename was followed. */
  readonly owner: string;
  readonly repo: string;
  readonly issues: readonly ListedIssue[];
}

export async function listIssues(
  { store, forge }: { readonly store: Pick<RunStore, 'list'>; readonly forge: Forge },
  query: IssueQuery,
  signal: AbortSignal,
): Promise<IssuePage> {
  const { owner, repo } = await forge.repository(query, signal);
  const { state, limit, label } = query;
  const filter = { state, limit, ...(label === undefined ? {} : { label }) };
  const found = await forge.listIssues({ owner, repo }, filter, signal);
  const issues: ListedIssue[] = [];
  for (const issue of found) {
    const { runs } = await store.list({ forge: forge.name, owner, repo, number: issue.number, limit: 1 });
    const [newest] = runs;
    const planned =
      newest === undefined ? null : { run_id: newest.run_id, at: newest.created_at, status: newest.status };
    issues.push({ ...issue, planned });
  }
  return { forge: forge.name, owner, repo, issues };
}

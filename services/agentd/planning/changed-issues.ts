import type { ChangedIssues } from '#kit/contracts/issues.ts';
import { sha256 } from '#kit/digest.ts';
import type { RunStore } from '../runs/run-store.ts';
import type { ChangedIssue, Forge, RepositoryRef } from './forge.ts';
import { isUnchanged } from './unchanged.ts';

export interface ChangeQuery extends RepositoryRef {
  readonly forge?: string;
  /** RFC 3339, by the forge's clock. */
  readonly since: string;
}

interface Ports {
  readonly store: Pick<RunStore, 'list' | 'read' | 'artifact'>;
  readonly forge: Forge;
}

/** So many are listed at once. */
const limit = 500;

/** What changed on a forge since a time, for whoever missed being told of it. */
export async function changedIssues(
  ports: Ports,
  query: ChangeQuery,
  signal: AbortSignal,
): Promise<ChangedIssues> {
  const { forge } = ports;
  const { owner, repo, forge_time } = await forge.repository(query, signal);
  const ref = { owner, repo };
  const found = await forge.changedIssues(ref, { since: query.since, limit }, signal);
  const last = found.at(-1);
  const more = found.length === limit && Date.parse(last!.updated_at) > Date.parse(query.since);
  const issues: ChangedIssues['issues'] = [];
  for (const issue of found) {
    const { body, labels, ...rest } = issue;
    const planned_at = await plannedAt(ports, ref, issue, signal);
    issues.push({ ...rest, labels: [...labels], body_sha256: sha256(body), planned_at });
  }
  const until = notAhead(more ? last!.updated_at : forge_time);
  return { forge: forge.name, ...ref, until, more, issues };
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
  const { store, forge } = ports;
  const { runs } = await store.list({ forge: forge.name, ...ref, number: issue.number, limit: 1 });
  const [newest] = runs;
  if (newest === undefined) return null;
  return (await isUnchanged(ports, ref, issue, newest.run_id, signal)) ? newest.created_at : null;
}

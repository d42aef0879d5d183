import { ChangedIssues, IssueList } from '#kit/contracts/issues.ts';
import { RunList, type RunSummary } from '#kit/contracts/run.ts';
import { takesToken } from '#kit/health/probe.ts';
import { createHttpClient } from '#kit/http/client.ts';

export interface IssueQuery {
  readonly forge: string | null;
  readonly owner: string;
  readonly repo: string;
  readonly label: string | null;
  readonly state: string;
  readonly limit: number;
}

export interface ChangeQuery {
  readonly forge: string | null;
  readonly owner: string;
  readonly repo: string;
  readonly since: string;
}

/** Milliseconds: a forge is asked page by page, and about each issue that was opened again. */
const changesMs = 600_000;

/** What the bridge asks of core-agentd: reading alone. */
export interface Daemon {
  /** Newest first, page by page. */
  runs(signal?: AbortSignal): AsyncIterable<readonly RunSummary[]>;
  /** @throws NotFound (`repository_not_found` …), Unavailable */
  issues(query: IssueQuery, signal?: AbortSignal): Promise<IssueList>;
  /** What changed on a forge since a time (RFC 3339). @throws as `issues` */
  changedIssues(query: ChangeQuery, signal?: AbortSignal): Promise<ChangedIssues>;
  /** Whether it answers, and takes the bridge's token. @returns a word for people */
  reached(signal: AbortSignal): Promise<string>;
  close(): Promise<void>;
}

/** @param url asked before each request, as the token is: the daemon may come back elsewhere */
export function connectDaemon(url: () => string, token: () => string): Daemon {
  const client = createHttpClient({ baseUrl: url, token });
  return {
    async *runs(signal) {
      let cursor: string | null = null;
      do {
        const path: string = `/v1/runs?limit=100${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
        const page: RunList = await client.get(path, RunList, { signal });
        yield page.runs;
        cursor = page.next_cursor;
      } while (cursor !== null);
    },
    async issues({ forge, owner, repo, label, state, limit }, signal) {
      const query = new URLSearchParams({ owner, repo, state, sort: 'updated', limit: String(limit) });
      if (forge !== null) query.set('forge', forge);
      if (label !== null) query.set('label', label);
      return client.get(`/v1/issues?${query}`, IssueList, { signal });
    },
    async changedIssues({ forge, owner, repo, since }, signal) {
      const query = new URLSearchParams({ owner, repo, since });
      if (forge !== null) query.set('forge', forge);
      const patient = createHttpClient({ baseUrl: url(), token, timeoutMs: changesMs });
      try {
        return await patient.get(`/v1/issues/changed?${query}`, ChangedIssues, { signal });
      } finally {
        await patient.close();
      }
    },
    reached: async (signal) => takesToken(client, ['read'], signal),
    close: () => client.close(),
  };
}

import type { ActionScore, ScoreRequest } from '#kit/contracts/context/execution.ts';
import type { LookupRequest } from '#kit/contracts/context/memory.ts';
import type { SearchRequest } from '#kit/contracts/context/search.ts';
import type { Target } from '../action.ts';
import type { ContextPassage } from './passage.ts';

/**
 * What core-context knows, for planning: it reads there, and lets it read the mirror of a repository. Every method rejects with
 * Unavailable (`context_unavailable`) when the service is not there, is too slow, or answers what nobody can use.
 */
export interface Context {
  /** For people, for example `core-context at http://127.0.0.1:8090`. */
  readonly name: string;
  /** Brings what is known of a repository up to a commit; a copy that is read already costs little. */
  refresh(
    repository: { readonly name: string; readonly path: string; readonly commit: string },
    signal: AbortSignal,
  ): Promise<void>;
  search(request: Omit<SearchRequest, 'as_of'>, signal: AbortSignal): Promise<ContextPassage[]>;
  /** With an empty `about`: memories about anything. */
  lookup(request: LookupRequest, signal: AbortSignal): Promise<ContextPassage[]>;
  /** How well actions like these went, in their order. */
  scorePaths(request: ScoreRequest, signal: AbortSignal): Promise<ActionScore[]>;
}

/** Names of things as core-context knows them. */

/** `forge/owner/repo`. */
export function contextRepository({ forge, owner, repo }: Pick<Target, 'forge' | 'owner' | 'repo'>): string {
  return `${forge}/${owner}/${repo}`;
}

export const entityId = {
  repository: (repository: string) => `repo:${repository}`,
  issue: (repository: string, number: number) => `issue:${repository}#${number}`,
  agent: (role: string) => `agent:${role}`,
} as const;

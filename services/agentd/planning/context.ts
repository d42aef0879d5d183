import type { ActionScore, ScoreRequest } from '#kit/contracts/context/execution.ts';
import type { EntityKind, MemoryLayer } from '#kit/contracts/context/vocabulary.ts';
import type { ContextPassage } from './planner.ts';

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
  search(
    request: {
      readonly query: string;
      /** `forge/owner/repo`. */
      readonly repository: string;
      readonly kinds: readonly EntityKind[];
      readonly limit: number;
    },
    signal: AbortSignal,
  ): Promise<ContextPassage[]>;
  lookup(
    request: {
      readonly query: string;
      readonly layer: MemoryLayer;
      /** Ids of entities: only memories about any of them. Empty: about anything. */
      readonly about: readonly string[];
      readonly limit: number;
    },
    signal: AbortSignal,
  ): Promise<ContextPassage[]>;
  /** How well actions like these went, in their order. */
  scorePaths(request: ScoreRequest, signal: AbortSignal): Promise<ActionScore[]>;
}

/** Names of things as core-context knows them. */

/** `forge/owner/repo`. */
export function contextRepository(target: {
  readonly forge: string;
  readonly owner: string;
  readonly repo: string;
}): string {
  return `${target.forge}/${target.owner}/${target.repo}`;
}

export const entityId = {
  repository: (repository: string) => `repo:${repository}`,
  issue: (repository: string, number: number) => `issue:${repository}#${number}`,
  agent: (role: string) => `agent:${role}`,
} as const;

import { join } from 'node:path';

/**
 * Where core-agentd keeps its clone of a repository of a forge, and core-context reads it.
 * @param repository `forge/owner/repo`
 */
export function mirrorFolder(state: string, repository: string): string {
  return join(state, 'mirrors', `${repository}.git`);
}

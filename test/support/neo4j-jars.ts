import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '#kit/environment.ts';

/** The same version stands in `.ci/run`, which fetches it. */
export const neo4jVersion = '5.26.30';

export function neo4jJars({ XDG_CACHE_HOME }: Pick<Environment, 'XDG_CACHE_HOME'>): string {
  return join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'core-ci', `neo4j-${neo4jVersion}`);
}

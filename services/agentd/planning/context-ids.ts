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

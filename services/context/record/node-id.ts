/**
 * Ids of nodes: stable, readable, the same in every projection. A repository is `local/demo/hello`, or the name under which it
 * was ingested.
 */
export const nodeId = {
  repository: (repository: string) => `repo:${repository}`,
  directory: (repository: string, path: string) => `dir:${repository}:${path}`,
  file: (repository: string, path: string) => `file:${repository}:${path}`,
  /** `name` is qualified: `Greeter.greet`. `nth` counts from 1 where a file has several of that name. */
  symbol: (repository: string, path: string, name: string, nth = 1) =>
    `symbol:${repository}:${path}#${name}${nth === 1 ? '' : `~${nth}`}`,
  section: (repository: string, path: string, slug: string) => `section:${repository}:${path}#${slug}`,
  /** A task, which is of no issue, has its run in place of a number. */
  issue: (repository: string, number: number | string) => `issue:${repository}#${number}`,
  run: (runId: string) => `run:${runId}`,
  reasoning: (runId: string) => `reasoning:${runId}`,
  task: (repository: string, number: number | string) => `task:${repository}#${number}`,
  action: (runId: string, actionId: string) => `action:${runId}/${actionId}`,
  artifact: (sha256: string) => `artifact:${sha256}`,
  agent: (role: string) => `agent:${role}`,
  service: (name: string) => `service:${name}`,
  procedure: (name: string) => `procedure:${name}`,
} as const;

/**
 * The local forge of `core-status --smoke`: there without being configured, so that nothing of the person's is touched. It holds
 * one demo repository with one issue.
 */
export const smokeForge = {
  name: 'core-smoke',
  owner: 'core-smoke',
  repo: 'demo',
  /** Below the state folder. The folder above is the state folder for the one who makes the repository. */
  root: 'smoke/forge',
  home: 'smoke',
} as const;

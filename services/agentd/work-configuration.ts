import { readConcern } from '#kit/config/concern.ts';
import type { Folders } from '#kit/folders.ts';
import { checkForgesConfig, ForgesConfig } from './forges/registry.ts';
import { AgentsConfig, checkAgentsConfig } from './planning/roles.ts';
import { readPolicy } from './policy.ts';
import { ValidationConfig } from './validation/configuration.ts';

/** The files that it is in. */
export const workConcerns = ['policy', 'agents', 'validation', 'forges'] as const;

export type WorkConfiguration = ReturnType<typeof readWorkConfiguration>;

/** What planning and execution are configured by. @throws InvalidInput (`config_invalid`, `forges_invalid`) */
export function readWorkConfiguration(folders: Pick<Folders, 'config'>) {
  return {
    policy: readPolicy(folders),
    agents: checkAgentsConfig(readConcern(AgentsConfig, 'agents', folders)),
    validation: readConcern(ValidationConfig, 'validation', folders),
    forges: checkForgesConfig(readConcern(ForgesConfig, 'forges', folders)),
  };
}

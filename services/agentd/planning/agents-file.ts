import { changeConcern } from '#kit/config/change-concern.ts';
import { isObject } from '#kit/config/merge.ts';
import { Conflict } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import type { AgentSettings } from './agent-settings.ts';
import { AgentsConfig, checkAgentsConfig } from './roles.ts';

/** @throws Conflict (`agent_exists`) */
export function requireNewAgent({ agents }: Pick<AgentsConfig, 'agents'>, name: string): void {
  if (!Object.hasOwn(agents, name)) return;
  throw new Conflict('agent_exists', `agent ${JSON.stringify(name)} is in agents.json already`, {
    hint: '--replace puts this in its place; or choose another name.',
  });
}

/**
 * Adds an agent to the user's own `agents.json`, whole or not at all; everything else in it stays as it is.
 * @returns its path
 * @throws Conflict (`agent_exists`), InvalidInput (`config_invalid`, `invalid_json`); then nothing is written
 */
export function addAgent(
  folders: Pick<Folders, 'config'>,
  name: string,
  settings: AgentSettings,
  replace: boolean,
): string {
  return changeConcern(folders, {
    name: 'agents',
    codec: AgentsConfig,
    members({ agents }) {
      const before = isObject(agents) ? agents : {};
      if (!replace) requireNewAgent({ agents: before as AgentsConfig['agents'] }, name);
      return { agents: { ...before, [name]: settings } };
    },
    check: (config, path) => void checkAgentsConfig(config, path),
  });
}

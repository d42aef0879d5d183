import { join } from 'node:path';
import type { Folders } from '#kit/folders.ts';
import type { SecretFinder } from '#kit/redaction/secret-finder.ts';
import { type AgentSettings, checkAgents } from '../../planning/agent-settings.ts';
import { addAgent, requireNewAgent } from '../../planning/agents-file.ts';
import type { PlannerServices } from '../../planning/planner.ts';
import {
  type AgentList,
  type AgentStanding,
  configuredAgents,
  knownPresets,
  obstacleOf,
} from './agent-list.ts';
import type { AgentCheck, CheckedStep } from './check-agent.ts';
import { findAgents } from './find-agents.ts';
import type { NewAgent } from './new-agent.ts';

export interface AgentAdminParts {
  readonly folders: Folders;
  /** Of the person. */
  readonly home: string;
  readonly services: PlannerServices;
  readonly secrets: SecretFinder;
}

export interface ProposedAgent {
  readonly settings: AgentSettings;
  /** What a login of its own means, for people. */
  readonly risks: readonly string[];
  /** Of the file that it would be written to. */
  readonly path: string;
}

/** Coding agents of this machine and of agents.json. */
export class AgentAdmin {
  readonly #parts: AgentAdminParts;

  constructor(parts: AgentAdminParts) {
    this.#parts = parts;
  }

  get names(): readonly string[] {
    return Object.keys(this.#parts.services.agents.agents);
  }

  /** The configured ones, and whether each could plan here. */
  async standing(): Promise<readonly AgentStanding[]> {
    const { services, home } = this.#parts;
    const { agents, models, rooms } = services;
    if (this.names.length === 0) return [];
    const sandbox = await rooms.sandbox().then(() => null, obstacleOf);
    return configuredAgents(agents, { models: models(), home, sandbox });
  }

  /** @param folder whose packages are looked at too */
  async list(folder: string): Promise<AgentList> {
    const { agents, models } = this.#parts.services;
    const [standing, found] = await Promise.all([this.standing(), findAgents(folder)]);
    return { agents: standing, presets: knownPresets(agents, models(), found) };
  }

  /** The entry that `add` would write. @throws as `settingsFor` and `addAgent` */
  async proposed(given: NewAgent, folder: string, replace: boolean): Promise<ProposedAgent> {
    const { services, folders } = this.#parts;
    const { loginRisks, settingsFor } = await import('./new-agent.ts');
    if (!replace) requireNewAgent(services.agents, given.name);
    const settings = settingsFor(given, given.command === undefined ? await findAgents(folder) : []);
    const path = join(folders.config, 'agents.json');
    checkAgents({ [given.name]: settings }, path);
    return { settings, risks: loginRisks(settings), path };
  }

  /** @returns path of the file. @throws as `addAgent` */
  add(name: string, settings: AgentSettings, replace: boolean): string {
    return addAgent(this.#parts.folders, name, settings, replace);
  }

  async check(name: string, onStep: (step: CheckedStep) => void, signal: AbortSignal): Promise<AgentCheck> {
    const { folders, services, secrets } = this.#parts;
    const { checkAgent } = await import('./check-agent.ts');
    return checkAgent({ services, stateDir: folders.state, secrets }, name, onStep, signal);
  }
}

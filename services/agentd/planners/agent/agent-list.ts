import type { KnownModel } from '#kit/config/known-models.ts';
import { CoreError } from '#kit/errors.ts';
import { type AgentPresetName, agentPresets } from '../../planning/agent-settings.ts';
import { type AgentsConfig, planningTier } from '../../planning/roles.ts';
import { type Agent, resolvedAgent } from './agent.ts';
import { agentModel } from './agent-planner.ts';
import { readCredentials } from './credentials.ts';
import { type InstalledAgent, programVersion } from './find-agents.ts';
import { presets } from './presets.ts';
import { startOf } from './programs.ts';

/** What stands in the way of a thing that would otherwise work. */
export interface Obstacle {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
}

/** A configured agent, and whether it could plan here. */
export interface AgentStanding
  extends Pick<Agent, 'name' | 'preset' | 'protocol' | 'dialect' | 'hosts' | 'credentials'> {
  /** Absolute, or as configured where it is not there. */
  readonly program: string;
  readonly version: string | null;
  /** That would serve it. */
  readonly model: string | null;
  readonly works: boolean;
  readonly obstacle: Obstacle | null;
}

/** What Core knows how to start. */
export interface PresetStanding {
  readonly preset: AgentPresetName;
  readonly title: string;
  readonly dialect: Agent['dialect'];
  readonly install: string;
  /** null where it was not found. */
  readonly installed: InstalledAgent | null;
  /** That would serve it; null where none can. */
  readonly model: string | null;
}

export interface AgentList {
  readonly agents: readonly AgentStanding[];
  readonly presets: readonly PresetStanding[];
}

export interface AgentSurroundings {
  readonly models: readonly KnownModel[];
  /** Of the person, whose logins agents may be given. */
  readonly home: string;
  /** What stands in the way of every agent; null where a sandbox can hold them. */
  readonly sandbox: Obstacle | null;
}

export function configuredAgents(
  config: AgentsConfig,
  { models, home, sandbox }: AgentSurroundings,
): AgentStanding[] {
  return Object.entries(config.agents).map(([name, settings]) => {
    const agent = resolvedAgent(name, settings, config.planner.bounds);
    const { preset, protocol, dialect, hosts, credentials } = agent;
    const start = attempted(() => startOf(agent));
    const model = attempted(() => agentModel(agent, models, planningTier(config)));
    const login = attempted(() => readCredentials(credentials, home));
    const obstacle = start.obstacle ?? model.obstacle ?? login.obstacle ?? sandbox;
    return {
      name,
      preset,
      protocol,
      dialect,
      hosts,
      credentials,
      program: start.value?.program ?? agent.command[0],
      version: start.value === null ? null : programVersion(start.value.program),
      model: model.value?.name ?? null,
      works: obstacle === null,
      obstacle,
    };
  });
}

export function knownPresets(
  config: AgentsConfig,
  models: readonly KnownModel[],
  found: readonly InstalledAgent[],
): PresetStanding[] {
  return agentPresets.map((preset) => {
    const { title, dialect, install } = presets[preset];
    const asked = { name: preset, dialect, model: null };
    return {
      preset,
      title,
      dialect,
      install,
      installed: found.find((one) => one.preset === preset) ?? null,
      model: attempted(() => agentModel(asked, models, planningTier(config))).value?.name ?? null,
    };
  });
}

function attempted<T>(work: () => T): { readonly value: T | null; readonly obstacle: Obstacle | null } {
  try {
    return { value: work(), obstacle: null };
  } catch (error) {
    return { value: null, obstacle: obstacleOf(error) };
  }
}

/** @throws what is no CoreError */
export function obstacleOf(error: unknown): Obstacle {
  if (!(error instanceof CoreError)) throw error;
  return { code: error.code, message: error.message, hint: error.hint ?? null };
}

/** What keeps every agent from planning, for people; null where one of them can. */
export function whyNone(agents: readonly AgentStanding[]): string | null {
  if (agents.length === 0 || agents.some(({ works }) => works)) return null;
  return agents.map(({ obstacle }) => obstacle!.message).join('; ');
}

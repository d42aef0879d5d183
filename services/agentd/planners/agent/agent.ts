import { InvalidInput } from '#kit/errors.ts';
import type { AgentDialect, AgentPresetName, AgentSettings } from '../../planning/agent-settings.ts';
import type { AgentsConfig } from '../../planning/roles.ts';
import { presets } from './presets.ts';

/** A configured agent with all that its preset knows. */
export interface Agent {
  readonly name: string;
  readonly preset: AgentPresetName | null;
  readonly protocol: 'acp' | 'command';
  readonly command: readonly [program: string, ...args: string[]];
  readonly dialect: AgentDialect | null;
  readonly model: string | null;
  readonly environment: Readonly<Record<string, string>>;
  readonly home: Readonly<Record<string, string>>;
  readonly programs: readonly string[];
  readonly bounds: AgentBounds;
  readonly authenticate: string | null;
  readonly mode: string | null;
  readonly files: boolean;
  readonly hosts: readonly string[];
  readonly credentials: readonly string[];
}

export interface AgentBounds {
  /** US dollars. */
  readonly money: number;
  readonly seconds: number;
  /** Calls of the model. */
  readonly turns: number;
}

/** @throws InvalidInput (`agent_unknown`) */
export function agentNamed(config: AgentsConfig, name: string): Agent {
  const settings = config.agents[name];
  if (settings !== undefined) return resolvedAgent(name, settings, config.planner.bounds);
  const known = Object.keys(config.agents);
  throw new InvalidInput(
    'agent_unknown',
    `agent ${JSON.stringify(name)} is not in agents.json; it has ${known.join(', ') || 'none'}`,
    { hint: './core agent list shows what is installed; ./core agent add configures one' },
  );
}

export function resolvedAgent(
  name: string,
  settings: AgentSettings,
  bounds: AgentsConfig['planner']['bounds'],
): Agent {
  const preset = settings.preset == null ? null : presets[settings.preset];
  const dialect = settings.dialect === undefined ? (preset?.dialect ?? null) : settings.dialect;
  // Without a model of ours the preset's variables for one would lead nowhere.
  const known = dialect === null ? (preset?.login?.environment ?? {}) : (preset?.environment ?? {});
  return {
    name,
    preset: settings.preset ?? null,
    protocol: settings.protocol ?? (preset === null ? 'command' : 'acp'),
    command: (settings.command ?? preset?.command) as Agent['command'],
    dialect,
    model: settings.model ?? null,
    environment: { ...known, ...settings.environment },
    home: dialect === null ? {} : (preset?.home ?? {}),
    programs: settings.programs ?? [],
    bounds: {
      money: settings.bounds?.money ?? bounds.money,
      seconds: settings.bounds?.seconds ?? bounds.seconds,
      turns: settings.bounds?.turns ?? bounds.steps,
    },
    authenticate: dialect === null ? null : (preset?.authenticate ?? null),
    mode: settings.mode === undefined ? (preset?.mode ?? null) : settings.mode,
    files: preset?.files ?? true,
    hosts: settings.network?.hosts ?? [],
    credentials: settings.credentials ?? [],
  };
}

/** What `{address}`, `{model}` and `{key}` stand for. */
export interface ModelPlace {
  readonly address: string;
  readonly model: string;
  readonly key: string;
}

/** @throws InvalidInput (`agent_model_name`) for a name that would not stay within the quotes of a configuration file */
export function filledIn(
  texts: Readonly<Record<string, string>>,
  place: ModelPlace | null,
): Record<string, string> {
  if (place !== null && !/^[^\s"'\\{}\p{Cc}]{1,200}$/u.test(place.model)) {
    throw new InvalidInput(
      'agent_model_name',
      `model ${JSON.stringify(place.model)} cannot be given to an agent: the name must have no white space, quotes, braces or backslashes`,
      { hint: 'give the model another name in models.json' },
    );
  }
  const words: Readonly<Record<string, string>> = { ...place };
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [
      name,
      text.replace(/\{(address|model|key)\}/g, (whole, word: string) => words[word] ?? whole),
    ]),
  );
}

import * as t from 'io-ts';
import { plannerKinds } from '#kit/contracts/vocabulary.ts';
import {
  integerBetween,
  NonEmptyString,
  nullable,
  numberBetween,
  oneOf,
  optional,
  stringThat,
} from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';

/** `agents` of `config/agents.json`: coding agents by name. What a preset knows can be left out. */

/** Agents that Core knows how to start; `planners/agent/presets.ts` says how. */
export const agentPresets = ['claude', 'codex', 'opencode', 'gemini'] as const;
export type AgentPresetName = (typeof agentPresets)[number];

/** acp: the Agent Client Protocol on standard input and output. command: the prompt on standard input, the end is the answer. */
export const agentProtocols = ['acp', 'command'] as const;

/** What an agent speaks with its model: Anthropic's Messages, OpenAI's Responses or chat completions, Google's generateContent. */
export const agentDialects = ['messages', 'responses', 'chat', 'google'] as const;
export type AgentDialect = (typeof agentDialects)[number];

const HostName = stringThat(
  'HostName',
  'the name of a host, for example api.anthropic.com, in small letters',
  (text) =>
    text.length <= 253 &&
    /^(?=.*[a-z])[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/.test(text),
);
const HomeFile = stringThat('HomeFile', 'a file below your home, for example ~/.codex/auth.json', (text) =>
  /^~(\/(?!\.{1,2}(\/|$))[^/\0]+)+$/.test(text),
);
const VariableName = /^[A-Za-z_][A-Za-z0-9_]*$/;
const AbsolutePath = stringThat('AbsolutePath', 'an absolute path', (text) =>
  /^(\/(?!\.{1,2}(\/|$))[^/\0]+)+\/?$/.test(text),
);

/** An agent as the file has it. */
export const AgentSettings = t.strict({
  preset: optional(nullable(oneOf(agentPresets))),
  protocol: optional(oneOf(agentProtocols)),
  /** The program and its arguments, without a shell. */
  command: optional(t.array(NonEmptyString)),
  /** null: it asks no model of core-model-gateway, for example because it has a login of its own. */
  dialect: optional(nullable(oneOf(agentDialects))),
  /** Name in models.json; null: the one of the role's tier. */
  model: optional(nullable(NonEmptyString)),
  /** Variables; `{address}`, `{model}` and `{key}` stand for those of the model. */
  environment: optional(t.record(t.string, t.string)),
  /** Files and folders that it is run from, seen read-only. */
  programs: optional(t.array(AbsolutePath)),
  /** What ends it where it does not end by itself; what is left out is as for other planners. */
  bounds: optional(
    t.strict({
      /** US dollars. */
      money: optional(numberBetween(0.000_001, 1_000_000, 'US dollars above 0, at most 1000000')),
      seconds: optional(numberBetween(1, 86_400, 'seconds from 1 to 86400')),
      /** Calls of the model. */
      turns: optional(integerBetween(1, 10_000)),
    }),
  ),
  /** Mode of its session; null: as it starts. */
  mode: optional(nullable(NonEmptyString)),
  network: optional(
    t.strict({
      /** It reaches these on port 443, and nothing else. */
      hosts: t.array(HostName),
    }),
  ),
  /** Files of the person's home of which it gets copies. */
  credentials: optional(t.array(HomeFile)),
});
export type AgentSettings = t.TypeOf<typeof AgentSettings>;

export const AgentsByName = t.record(t.string, AgentSettings);

/**
 * Checks what the shape alone cannot say.
 * @throws InvalidInput (`config_invalid`)
 */
export function checkAgents(agents: Readonly<Record<string, AgentSettings>>, what: string): void {
  for (const [name, settings] of Object.entries(agents)) {
    const pointer = `/agents/${name}`;
    const problem = nameProblem(name) ?? settingsProblem(settings);
    if (problem !== null) throw new InvalidInput('config_invalid', `${what}: ${pointer} ${problem}`);
  }
}

function nameProblem(name: string): string | null {
  if ([...plannerKinds, 'auto'].includes(name)) return `is the name of a planner; call the agent otherwise`;
  if (/^[a-z][a-z0-9-]{0,39}$/.test(name)) return null;
  return 'must be named by at most 40 small letters, digits and dashes, beginning with a letter';
}

function settingsProblem({ preset, command, environment = {} }: AgentSettings): string | null {
  if (preset == null && (command === undefined || command.length === 0))
    return `needs a command, or a preset: ${agentPresets.join(', ')}`;
  if (command?.length === 0) return 'has an empty command';
  const wrong = Object.keys(environment).find((variable) => !VariableName.test(variable));
  return wrong === undefined ? null : `sets ${JSON.stringify(wrong)}, which is no name of a variable`;
}

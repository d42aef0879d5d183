import { isAbsolute } from 'node:path';
import { parseCommandString } from 'execa';
import { decode } from '#kit/decode.ts';
import { InvalidInput, Refused } from '#kit/errors.ts';
import { findProgram } from '#kit/find-program.ts';
import { type AgentPresetName, AgentSettings, agentPresets } from '../../planning/agent-settings.ts';
import type { InstalledAgent } from './find-agents.ts';
import { presets } from './presets.ts';
import { startOf } from './programs.ts';

/** What a person gives for a new agent. */
export interface NewAgent {
  readonly name: string;
  readonly preset?: string | undefined;
  /** Program and arguments in one text; a backslash keeps a space within a word. */
  readonly command?: string | undefined;
  readonly protocol?: string | undefined;
  readonly dialect?: string | undefined;
  readonly model?: string | undefined;
  /** Paths, with commas between them. */
  readonly programs?: string | undefined;
  readonly env?: readonly string[] | undefined;
  /** true: those of the preset's login. */
  readonly hosts?: string | true | undefined;
  readonly credentials?: string | true | undefined;
}

/**
 * The entry of `agents.json`: what the preset knows is left out.
 * @param installed found on this machine
 * @throws InvalidInput (`invalid_option`, `option_missing`), Refused (`agent_not_installed`)
 */
export function settingsFor(given: NewAgent, installed: readonly InstalledAgent[]): AgentSettings {
  const { model } = given;
  const preset = presetOf(given);
  const credentials = listOf('--credentials', given.credentials, preset);
  const hosts = listOf('--hosts', given.hosts, preset);
  const command = programOf(given, preset, installed);
  // With a login of its own it asks no model of ours.
  const own = credentials.length > 0 && model === undefined;
  const dialect = given.dialect === 'none' || (given.dialect === undefined && own) ? null : given.dialect;
  const entry = {
    ...(preset !== null && { preset }),
    ...(given.protocol !== undefined && { protocol: given.protocol }),
    command,
    ...(dialect !== undefined && { dialect }),
    ...(model !== undefined && { model }),
    ...(given.programs !== undefined && { programs: given.programs.split(',') }),
    ...(given.env !== undefined && { environment: variables(given.env) }),
    ...(hosts.length > 0 && { network: { hosts } }),
    ...(credentials.length > 0 && { credentials }),
  };
  return decode(AgentSettings, entry, 'the agent', 'invalid_option');
}

function presetOf({ name, preset, command }: NewAgent): AgentPresetName | null {
  const wanted = preset ?? (command === undefined ? name : undefined);
  const known = agentPresets.find((one) => one === wanted);
  if (known !== undefined) return known;
  if (preset !== undefined) {
    throw new InvalidInput(
      'invalid_option',
      `--preset '${preset}' must be one of ${agentPresets.join(', ')}; an agent of another kind has --command`,
    );
  }
  if (command !== undefined) return null;
  throw new InvalidInput(
    'option_missing',
    `agent ${JSON.stringify(name)} needs --preset (${agentPresets.join(', ')}) or --command`,
    { hint: "For example: agent add aider --command 'aider --yes --message-file {prompt_file}'" },
  );
}

/** Program and arguments, the program by its absolute path. @throws Refused (`agent_not_installed`) */
function programOf(
  { name, command }: NewAgent,
  preset: AgentPresetName | null,
  installed: readonly InstalledAgent[],
): string[] {
  if (command !== undefined || preset === null) {
    const [program = '', ...args] = parseCommandString(command ?? '');
    if (program === '') throw new InvalidInput('invalid_option', '--command must not be empty');
    startOf({ name, preset, command: [program, ...args], programs: [] });
    return [isAbsolute(program) ? program : findProgram(program)!, ...args];
  }
  const { command: usual, install, title } = presets[preset];
  const found = installed.find((one) => one.preset === preset);
  if (found !== undefined) return [found.program, ...usual.slice(1)];
  throw new Refused(
    'agent_not_installed',
    `${title} is not installed: ${usual[0]} is neither on PATH, nor in node_modules of this folder and those above, nor among npm's global packages`,
    { hint: `${install}\nor name it with --command` },
  );
}

function listOf(
  option: '--hosts' | '--credentials',
  given: string | true | undefined,
  preset: AgentPresetName | null,
): string[] {
  if (given === undefined) return [];
  if (given !== true) return given.split(',').map((one) => one.trim());
  const login = preset === null ? null : presets[preset].login;
  if (login !== null) return [...(option === '--hosts' ? login.hosts : (login.credentials ?? []))];
  throw new InvalidInput(
    'option_missing',
    `${option} needs its value: ${preset === null ? 'an agent without a preset' : presets[preset].title} has no login that Core knows`,
    { hint: `For example: ${option} ${option === '--hosts' ? 'api.example.com' : '~/.agent/login.json'}` },
  );
}

function variables(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((one) => {
      const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(one) ?? [];
      if (name !== undefined && value !== undefined) return [name, value];
      throw new InvalidInput(
        'invalid_option',
        `--env '${one}' must be NAME=VALUE, for example OPENAI_BASE_URL={address}/v1`,
      );
    }),
  );
}

/** What a login of its own means, for the person who adds it. */
export function loginRisks({ network, credentials = [] }: AgentSettings): string[] {
  const hosts = network?.hosts ?? [];
  return [
    ...(hosts.length > 0
      ? [
          `It reaches ${hosts.join(', ')}, and can send the files of the repository there. Core records host and bytes and cannot see what is said.`,
        ]
      : []),
    ...(credentials.length > 0
      ? [
          `It gets a copy of ${credentials.join(', ')}, deleted after each planning. What it does with your account is not in the ledger of core-model-gateway.`,
        ]
      : []),
    ...(hosts.length + credentials.length > 0
      ? ['The preview says so, and the risk of its changes is higher.']
      : []),
  ];
}

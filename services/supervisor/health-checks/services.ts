import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import * as t from 'io-ts';
import { answerMs } from '#kit/config/settings.ts';
import { type PlatformService, platformServices } from '#kit/contracts/platform-services.ts';
import { decode, nullable, oneOf, optional, parseJson } from '#kit/decode.ts';
import { childEnvironment, environment } from '#kit/environment.ts';
import { messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { nodeFlags } from '#kit/node-flags.ts';
import { broken, type Finding, finding } from './installation.ts';

/** Milliseconds that a program may take to start, on a busy machine. */
const startMs = 20_000;

/** Runs a command of a service, which alone knows its configuration, adapters and secrets. */
function ask(service: PlatformService, folders: Folders, args: readonly string[], timeout: number) {
  const main = fileURLToPath(new URL(`../../${service.replace('core-', '')}/main.ts`, import.meta.url));
  return execa(process.execPath, [...nodeFlags, main, '--json', ...args], {
    extendEnv: false,
    env: childEnvironment({ CORE_STATE_DIR: folders.state, CORE_CONFIG_DIR: folders.config }),
    reject: false,
    stdin: 'ignore',
    timeout,
  });
}

const Reported = t.type({
  error: t.type({
    message: t.string,
    hint: optional(t.string),
    errors: optional(t.array(t.type({ pointer: t.string, detail: t.string }))),
  }),
});

interface Refusal {
  readonly what: string;
  readonly fix: string | null;
}

/** The error that a program reported last on standard error. */
function refusalIn(stderr: string): Refusal {
  const last = stderr.trimEnd().split('\n').at(-1) ?? '';
  try {
    const { error } = decode(Reported, parseJson(last, 'it'), 'it');
    const others = (error.errors ?? []).slice(1).map(({ pointer, detail }) => `${pointer} ${detail}`);
    return { what: [error.message, ...others].join('; '), fix: error.hint ?? null };
  } catch (cause) {
    return {
      what: `${last.slice(0, 300) || 'it ended without an error message'} (${messageOf(cause)})`,
      fix: null,
    };
  }
}

/** Asks each service to read its configuration as it would when it starts. */
export async function checkConfiguration(folders: Folders): Promise<Finding[]> {
  const answers = await Promise.all(
    platformServices.map(async (service) => ({ service, refusal: await refusalOf(service, folders) })),
  );
  const refusals = answers.flatMap(({ service, refusal }) =>
    refusal === null ? [] : [{ service, ...refusal }],
  );
  if (refusals.length === 0) {
    const detail = `all ${platformServices.length} services can start with these files; a running service takes some changes only when it restarts`;
    return [finding('configuration', 'works', detail)];
  }
  return [...Map.groupBy(refusals, ({ what }) => what)].map(([what, alike]) => {
    const services = alike.map(({ service }) => service).join(', ');
    return finding('configuration', 'broken', `${what}  (${services} would not start)`, alike[0]!.fix);
  });
}

async function refusalOf(service: PlatformService, folders: Folders): Promise<Refusal | null> {
  const { exitCode, stderr, timedOut } = await ask(service, folders, ['serve', '--check'], startMs);
  if (exitCode === 0) return null;
  if (timedOut) return { what: `it was not read within ${startMs / 1000} s`, fix: null };
  return refusalIn(stderr);
}

const states = {
  works: 'works',
  limited: 'warning',
  unused: 'missing',
  silent: 'warning',
  unreachable: 'warning',
  refused: 'broken',
} as const satisfies Record<string, Finding['state']>;

const Reports = t.type({
  forges: t.array(
    t.type({
      forge: t.string,
      state: oneOf(Object.keys(states) as [keyof typeof states, ...(keyof typeof states)[]]),
      detail: t.string,
      fix: nullable(t.string),
    }),
  ),
});

/** Each configured forge, asked by core-agentd, whose tokens and adapters they are. */
export async function checkForges(folders: Folders): Promise<Finding[]> {
  const timeout = startMs + 2 * answerMs({ folders, environment });
  const { stdout, stderr, timedOut } = await ask('core-agentd', folders, ['forges'], timeout);
  if (timedOut) return [finding('forges', 'broken', `the forges were not asked within ${timeout / 1000} s`)];
  if (stdout === '') return [finding('forges', 'broken', refusalIn(stderr).what)];
  try {
    const { forges } = decode(Reports, parseJson(stdout, 'its answer'), 'its answer');
    return forges.map(({ forge, state, detail, fix }) =>
      finding(`forge ${forge}`, states[state], detail, fix),
    );
  } catch (error) {
    return [broken('forges', error)];
  }
}

const Agents = t.type({
  agents: t.array(
    t.type({
      name: t.string,
      works: t.boolean,
      version: nullable(t.string),
      model: nullable(t.string),
      obstacle: nullable(t.type({ message: t.string, hint: nullable(t.string) })),
    }),
  ),
  presets: t.array(t.type({ preset: t.string, installed: nullable(t.unknown) })),
});

/** Each configured coding agent, as core-agentd sees it; none is started. */
export async function checkAgents(folders: Folders): Promise<Finding[]> {
  const { stdout, stderr, timedOut } = await ask('core-agentd', folders, ['agent', 'list'], startMs);
  if (timedOut) return [finding('agents', 'warning', `they were not found within ${startMs / 1000} s`)];
  if (stdout === '') return [finding('agents', 'broken', refusalIn(stderr).what)];
  try {
    const { agents, presets } = decode(Agents, parseJson(stdout, 'its answer'), 'its answer');
    if (agents.length > 0) return agents.map(agentFinding);
    const installed = presets.filter((one) => one.installed !== null).map(({ preset }) => preset);
    const found = installed.length === 0 ? '' : `; installed: ${installed.join(', ')}`;
    const fix = installed.length === 0 ? null : `./core agent add ${installed[0]}`;
    return [finding('agents', 'missing', `no coding agent is configured${found}`, fix)];
  } catch (error) {
    return [broken('agents', error)];
  }
}

function agentFinding({
  name,
  works,
  version,
  model,
  obstacle,
}: t.TypeOf<typeof Agents>['agents'][number]): Finding {
  const facts = [version, model === null ? null : `model ${model}`].filter((fact) => fact !== null);
  const check = `./core agent check ${name} tries it`;
  if (works) return finding(`agent ${name}`, 'works', [...facts, check].join('; '));
  return finding(`agent ${name}`, 'warning', obstacle?.message ?? '', obstacle?.hint ?? null);
}

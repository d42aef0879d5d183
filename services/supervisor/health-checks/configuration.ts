import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import * as t from 'io-ts';
import { type PlatformService, platformServices } from '#kit/contracts/platform-services.ts';
import { decode, optional, parseJson } from '#kit/decode.ts';
import { childEnvironment } from '#kit/environment.ts';
import { messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { nodeFlags } from '#kit/node-flags.ts';
import type { Finding } from './finding.ts';

const longestMs = 20_000;

const Told = t.type({
  error: t.type({
    message: t.string,
    hint: optional(t.string),
    errors: optional(t.array(t.type({ pointer: t.string, detail: t.string }))),
  }),
});

interface Refusal {
  readonly service: PlatformService;
  readonly what: string;
  readonly fix: string | null;
}

/** Whether each service would start with the configuration as it is: every one is asked, as only it knows what it reads. */
export async function checkConfiguration(folders: Folders): Promise<Finding[]> {
  const answers = await Promise.all(platformServices.map((service) => refusalOf(service, folders)));
  const refusals = answers.filter((one) => one !== null);
  if (refusals.length === 0) {
    const detail = `understood by all ${platformServices.length} services; what runs has read it when it started`;
    return [{ name: 'configuration', state: 'works', detail, fix: null }];
  }
  return [...Map.groupBy(refusals, ({ what }) => what)].map(([what, alike]) => ({
    name: 'configuration',
    state: 'broken',
    detail: `${what}  (${alike.map(({ service }) => service).join(', ')} would not start)`,
    fix: alike[0]!.fix,
  }));
}

async function refusalOf(service: PlatformService, folders: Folders): Promise<Refusal | null> {
  const main = fileURLToPath(new URL(`../../${service.replace('core-', '')}/main.ts`, import.meta.url));
  const args = [...nodeFlags, main, '--json', 'serve', '--check'];
  const { exitCode, stderr, timedOut } = await execa(process.execPath, args, {
    extendEnv: false,
    env: childEnvironment({ CORE_STATE_DIR: folders.state, CORE_CONFIG_DIR: folders.config }),
    reject: false,
    stdin: 'ignore',
    timeout: longestMs,
  });
  if (exitCode === 0) return null;
  if (timedOut) return { service, what: `it was not read within ${longestMs / 1000} s`, fix: null };
  return { service, ...toldIn(stderr) };
}

function toldIn(stderr: string): Omit<Refusal, 'service'> {
  const last = stderr.trimEnd().split('\n').at(-1) ?? '';
  try {
    const { error } = decode(Told, parseJson(last, 'it'), 'it');
    const others = (error.errors ?? []).slice(1).map(({ pointer, detail }) => `${pointer} ${detail}`);
    return { what: [error.message, ...others].join('; '), fix: error.hint ?? null };
  } catch (cause) {
    return { what: `${last.slice(0, 300) || 'it ended without a word'} (${messageOf(cause)})`, fix: null };
  }
}

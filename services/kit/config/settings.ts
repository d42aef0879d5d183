import * as t from 'io-ts';
import { decode, integerBetween, NonEmptyString, nullable, oneOf } from '../decode.ts';
import type { Environment } from '../environment.ts';
import { CoreError, InvalidInput } from '../errors.ts';
import type { Folders } from '../folders.ts';
import { AbsolutePath, Hostname, HttpUrl, Tls } from './address.ts';
import { decodeConcern, readConcernDocument, type SettingRow } from './concern.ts';
import { hasPointer, mergeJson, valueAt } from './merge.ts';
import { runningService } from './running-service.ts';
import { describeAddress, readServiceAddress, serviceUrl } from './service-address.ts';

export type { SettingRow } from './concern.ts';

/** What `config/core.json` holds. */
export const Settings = t.strict({
  agentd: t.strict({
    /** Where it listens; beside the loopback interface it needs `tls` or `behind_proxy`. */
    host: Hostname,
    /** 0 takes any free port. */
    port: integerBetween(0, 65_535),
    /** Names besides the loopback's that may stand in `Host`. */
    allowed_hosts: t.array(Hostname),
    /** Whether reading on the loopback interface needs a token too. */
    require_token_for_reads: t.boolean,
    /** TLS ends at a proxy in front of the daemon. */
    behind_proxy: t.boolean,
    /** null: plain HTTP. */
    tls: nullable(Tls),
    /** Name to path of a working copy; over HTTP `execute` says the name. */
    checkouts: t.record(NonEmptyString, AbsolutePath),
  }),
  log: t.strict({
    /** The least that is written. */
    level: oneOf(['error', 'warn', 'info', 'debug']),
    /** Text for people, JSON for machines; each a line on standard error. */
    format: oneOf(['json', 'text']),
  }),
  context: t.strict({
    /** Where core-context answers; null: planning does without it. */
    url: nullable(HttpUrl),
  }),
  answers: t.strict({
    /** How long a service, an engine or a program may take to say how it is; later it counts as silent, not as gone. */
    seconds: integerBetween(1, 600),
  }),
  /** What changes are built with; auto: jj where it is installed, else git. */
  vcs: oneOf(['auto', 'jj', 'git']),
});
export type Settings = t.TypeOf<typeof Settings>;

/** Values given on a command line, by setting; undefined ones were not given. */
export interface SettingFlags {
  readonly host?: string | undefined;
  readonly port?: string | number | undefined;
  readonly logLevel?: string | undefined;
  readonly logFormat?: string | undefined;
  readonly contextUrl?: string | undefined;
  readonly vcs?: string | undefined;
}

type SettingEnvironment = Pick<
  Environment,
  'CORE_AGENTD_HOST' | 'CORE_AGENTD_PORT' | 'CORE_LOG_LEVEL' | 'CORE_LOG_FORMAT' | 'CORE_CONTEXT_URL'
> &
  Partial<Pick<Environment, 'CORE_CONTEXT_HOST' | 'CORE_CONTEXT_PORT'>>;

export interface SettingSources {
  /** With `state`, a core-context that runs there is found wherever it listens. */
  readonly folders: Pick<Folders, 'config'> & Partial<Pick<Folders, 'state'>>;
  readonly flags?: SettingFlags;
  readonly environment: SettingEnvironment;
}

interface Binding {
  readonly key: string;
  readonly codec: t.Mixed;
  readonly flag: { readonly name: keyof SettingFlags; readonly text: string };
  readonly variable: keyof SettingEnvironment | null;
}

const { agentd, log, context, vcs } = Settings.type.props;
/** Settings that a flag or a variable can give. */
export const settingBindings: readonly Binding[] = [
  binding('agentd.host', agentd.type.props.host, 'host', '--host', 'CORE_AGENTD_HOST'),
  binding('agentd.port', agentd.type.props.port, 'port', '--port', 'CORE_AGENTD_PORT'),
  binding('log.level', log.type.props.level, 'logLevel', '--log-level', 'CORE_LOG_LEVEL'),
  binding('log.format', log.type.props.format, 'logFormat', '--log-format', 'CORE_LOG_FORMAT'),
  binding('context.url', context.type.props.url, 'contextUrl', '--context-url', 'CORE_CONTEXT_URL'),
  binding('vcs', vcs, 'vcs', '--vcs', null),
];

function binding(
  key: string,
  codec: t.Mixed,
  name: keyof SettingFlags,
  text: string,
  variable: keyof SettingEnvironment | null,
): Binding {
  return { key, codec, flag: { name, text }, variable };
}

type Override = Omit<SettingRow, 'key'>;

/** Settings in force: flag, environment, user's file, shipped default, in that order. */
export function readSettings(sources: SettingSources): Settings {
  return resolveSettings(sources).settings;
}

/** Every setting with its origin, sorted by key. */
export function describeSettings(sources: SettingSources): SettingRow[] {
  return resolveSettings(sources).rows;
}

function resolveSettings(sources: SettingSources): { settings: Settings; rows: SettingRow[] } {
  const files = readConcernDocument('core', sources.folders);
  const fromFiles = decodeConcern(Settings, files);
  const overrides = new Map<string, Override>();
  let merged: unknown = fromFiles;
  for (const binding of settingBindings) {
    const override = overrideOf(binding, sources);
    if (override === null) continue;
    overrides.set(binding.key, override);
    merged = mergeJson(merged, nested(binding.key.split('.'), override.value));
  }
  if (!overrides.has('context.url') && !hasPointer(files.user.document, '/context/url')) {
    const followed = followContext(sources);
    if (followed !== null) {
      overrides.set('context.url', followed);
      merged = mergeJson(merged, nested(['context', 'url'], followed.value));
    }
  }
  const settings = decode(Settings, merged, 'settings');
  const rows = leavesOf(Settings, settings).map(([key, value]): SettingRow => {
    const override = overrides.get(key);
    if (override !== undefined) return { key, value, source: override.source, where: override.where };
    const pointer = `/${key.replaceAll('.', '/')}`;
    if (hasPointer(files.user.document, pointer))
      return { key, value, source: 'user', where: files.user.path };
    return { key, value, source: 'default', where: files.shipped.path };
  });
  return { settings, rows: rows.sort((a, b) => (a.key < b.key ? -1 : 1)) };
}

/** Without a configured address, core-context is where it runs, else at its configured listen address. */
function followContext({ folders, environment }: SettingSources): Override | null {
  const rows = describeAddress('context', { folders, environment }).filter(
    ({ source }) => source !== 'default',
  );
  const [row] = rows;
  const running = rows.some(({ source }) => source === 'environment')
    ? null
    : runningService('core-context', folders);
  if (running !== null) return { value: running.url, source: 'running', where: running.where };
  if (row === undefined) return null;
  return {
    value: serviceUrl(readServiceAddress('context', { folders, environment })),
    source: row.source,
    where: row.where,
  };
}

function overrideOf(binding: Binding, { flags, environment }: SettingSources): Override | null {
  const flag = flags?.[binding.flag.name];
  if (flag !== undefined) {
    return {
      value: parse(binding, String(flag), binding.flag.text),
      source: 'flag',
      where: binding.flag.text,
    };
  }
  const text = binding.variable === null ? undefined : environment[binding.variable];
  if (binding.variable === null || text === undefined || text === '') return null;
  return { value: parse(binding, text, binding.variable), source: 'environment', where: binding.variable };
}

/** The words `null` and `none` stand for null, digits for a number, where the setting takes one. */
function parse({ codec, key }: Binding, text: string, where: string): unknown {
  const candidates: unknown[] = [text];
  if (/^\d+$/.test(text)) candidates.unshift(Number(text));
  if (text === 'null' || text === 'none') candidates.unshift(null);
  const fitting = candidates.find((candidate) => codec.is(candidate));
  if (fitting !== undefined) return fitting;
  try {
    return decode(codec, candidates[0], where);
  } catch (error) {
    const rule = error instanceof InvalidInput ? error.errors[0]?.detail : undefined;
    throw new InvalidInput('config_invalid', `${where} (${key}) ${rule ?? 'is not valid'}`, { cause: error });
  }
}

function nested(path: readonly string[], value: unknown): unknown {
  return path.reduceRight((inner, key) => ({ [key]: inner }), value);
}

/** Settings one by one: what a strict object nests has its own key, everything else is one value. */
function leavesOf(codec: t.Mixed, value: unknown, prefix = ''): [string, unknown][] {
  const { props } = (codec as { type?: { props?: Record<string, t.Mixed> } }).type ?? {};
  if (props === undefined || value === null) return [[prefix, value]];
  return Object.entries(props).flatMap(([key, member]) =>
    leavesOf(member, valueAt(value, `/${key}`), prefix === '' ? key : `${prefix}.${key}`),
  );
}

const usualMs = 10_000;

/** Milliseconds for an answer of a service, engine or program about how it is; the default where the settings cannot be read. */
export function answerMs(sources: SettingSources): number {
  try {
    return readSettings(sources).answers.seconds * 1000;
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
    return usualMs;
  }
}

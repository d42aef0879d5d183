import * as t from 'io-ts';
import { decode, integerBetween, NonEmptyString, nullable, oneOf } from '../decode.ts';
import type { Environment } from '../environment.ts';
import { CoreError } from '../errors.ts';
import type { Folders } from '../folders.ts';
import { AbsolutePath, Hostname, HttpUrl, Tls } from './address.ts';
import { decodeConcern, overrideRow, readConcernDocument, type SettingRow } from './concern.ts';
import { hasPointer, mergeJson, valueAt } from './merge.ts';
import { runningService } from './running-service.ts';
import { describeAddress, readServiceAddress, serviceUrl } from './service-address.ts';
import { Storage } from './storage.ts';

export type { SettingRow } from './concern.ts';

/** What `config/core.json` holds. */
export const logLevels = ['error', 'warn', 'info', 'debug'] as const;
export const logFormats = ['json', 'text'] as const;

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
    level: oneOf(logLevels),
    /** Text for people, JSON for machines; each a line on standard error. */
    format: oneOf(logFormats),
  }),
  context: t.strict({
    /** Where core-context answers; null: planning does without it. */
    url: nullable(HttpUrl),
  }),
  answers: t.strict({
    /** How long a service, an engine or a program may take to say how it is; later it counts as silent, not as gone. */
    seconds: integerBetween(1, 600),
  }),
  signing: t.strict({
    /** SSH key for `approve --sign`: the path of a file, or a public key whose private half the ssh-agent holds; null: git's `user.signingkey`. */
    key: nullable(NonEmptyString),
  }),
  /** Where runs, leases, tokens, money and queues are kept. */
  storage: Storage,
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

const { agentd, log, context } = Settings.type.props;
/** Settings that a variable can give, and some a flag too. */
export const settingBindings: readonly {
  readonly key: string;
  readonly codec: t.Mixed;
  readonly flag?: keyof SettingFlags;
  readonly variable: keyof SettingEnvironment;
}[] = [
  { key: 'agentd.host', codec: agentd.type.props.host, flag: 'host', variable: 'CORE_AGENTD_HOST' },
  { key: 'agentd.port', codec: agentd.type.props.port, flag: 'port', variable: 'CORE_AGENTD_PORT' },
  { key: 'log.level', codec: log.type.props.level, flag: 'logLevel', variable: 'CORE_LOG_LEVEL' },
  { key: 'log.format', codec: log.type.props.format, flag: 'logFormat', variable: 'CORE_LOG_FORMAT' },
  { key: 'context.url', codec: context.type.props.url, variable: 'CORE_CONTEXT_URL' },
];

/** Settings in force: flag, environment, user's file, shipped default, in that order. */
export function readSettings(sources: SettingSources): Settings {
  return resolveSettings(sources).settings;
}

/** Every setting with its origin, sorted by key. */
export function describeSettings(sources: SettingSources): SettingRow[] {
  return resolveSettings(sources).rows;
}

/** `context.url` as the environment or the user's file sets it; null where it follows the address of core-context. */
export function givenContextUrl(sources: SettingSources): SettingRow | null {
  const { rows, isUrlGiven } = resolveSettings(sources);
  return isUrlGiven ? rows.find(({ key }) => key === 'context.url')! : null;
}

function resolveSettings(sources: SettingSources): {
  readonly settings: Settings;
  readonly rows: SettingRow[];
  readonly isUrlGiven: boolean;
} {
  const { flags = {}, environment } = sources;
  const files = readConcernDocument('core', sources.folders);
  const given = settingBindings.flatMap(({ key, codec, flag, variable }) => {
    const name = `--${flag?.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`)}`;
    const row = overrideRow(key, codec, [
      [flag && flags[flag], name, 'flag'],
      [environment[variable], variable, 'environment'],
    ]);
    return row ?? [];
  });
  const isUrlGiven =
    given.some(({ key }) => key === 'context.url') || hasPointer(files.user.document, '/context/url');
  if (!isUrlGiven) given.push(...followContext(sources));
  const merged = given.reduce<unknown>(
    (document, { key, value }) => mergeJson(document, nested(key.split('.'), value)),
    decodeConcern(Settings, files),
  );
  const settings = decode(Settings, merged, 'settings');
  const rows = leavesOf(Settings, settings).map(([key, value]): SettingRow => {
    const override = given.find((row) => row.key === key);
    if (override !== undefined) return { ...override, value };
    const pointer = `/${key.replaceAll('.', '/')}`;
    if (hasPointer(files.user.document, pointer))
      return { key, value, source: 'user', where: files.user.path };
    return { key, value, source: 'default', where: files.shipped.path };
  });
  return { settings, rows: rows.sort((a, b) => (a.key < b.key ? -1 : 1)), isUrlGiven };
}

/** Without a configured address, core-context is where it runs, else at its configured listen address. */
function followContext({ folders, environment }: SettingSources): SettingRow[] {
  const key = 'context.url';
  const rows = describeAddress('context', { folders, environment }).filter(
    ({ source }) => source !== 'default',
  );
  const isElsewhere = rows.some(({ source }) => source === 'environment');
  const running = isElsewhere ? null : runningService('core-context', folders);
  if (running !== null) return [{ key, value: running.url, source: 'running', where: running.where }];
  const value = () => serviceUrl(readServiceAddress('context', { folders, environment }));
  return rows.slice(0, 1).map(({ source, where }) => ({ key, value: value(), source, where }));
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

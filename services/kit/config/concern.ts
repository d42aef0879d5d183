import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as t from 'io-ts';
import { decode, parseJson } from '../decode.ts';
import { codeOf, Failed, type FieldError, InvalidInput, messageOf } from '../errors.ts';
import type { Folders } from '../folders.ts';
import { readSmallFile } from '../small-file.ts';
import { hasPointer, isObject, mergeJson } from './merge.ts';
import { unknownKeys } from './unknown-keys.ts';

export const shippedConfigFolder = fileURLToPath(new URL('../../../config/', import.meta.url));

/** A configuration file as shipped and as the user changed it. */
export interface ConcernDocument {
  readonly shipped: { readonly path: string; readonly document: unknown };
  /** `document` is undefined where the user has no such file. */
  readonly user: { readonly path: string; readonly document: unknown };
}

/**
 * One concern of the configuration: the shipped `config/<name>.json` with the user's `<config>/<name>.json` laid over it.
 * Objects merge, arrays and scalars replace.
 * @throws InvalidInput (`config_invalid`, `invalid_json`) naming file, JSON pointer, value, rule and choices
 */
export function readConcern<A>(
  codec: t.Type<A, unknown, unknown>,
  name: string,
  folders: Pick<Folders, 'config'>,
  shippedFolder = shippedConfigFolder,
): A {
  return decodeConcern(codec, readConcernDocument(name, folders, shippedFolder));
}

export function readConcernDocument(
  name: string,
  folders: Pick<Folders, 'config'>,
  shippedFolder = shippedConfigFolder,
): ConcernDocument {
  const shippedPath = join(shippedFolder, `${name}.json`);
  const shipped = readJsonObject(shippedPath);
  if (shipped === undefined) {
    throw new Failed('config_missing', `${shippedPath} is missing; it is part of the installation`, {
      facts: { path: shippedPath },
      hint: 'Install Core again, or restore its config folder.',
    });
  }
  const userPath = join(folders.config, `${name}.json`);
  return {
    shipped: { path: shippedPath, document: shipped },
    user: { path: userPath, document: readJsonObject(userPath) },
  };
}

/** The user's values laid over the shipped ones, and the file to name where one of them is wrong. */
export function mergedDocument({ shipped, user }: ConcernDocument): {
  readonly document: unknown;
  readonly path: string;
} {
  if (user.document === undefined) return shipped;
  return { document: mergeJson(shipped.document, user.document), path: user.path };
}

/** The part of a concern that others than its owner need, who checks the rest. @throws InvalidInput (`config_invalid`) */
export function readConcernPart<A>(
  codec: t.Decoder<unknown, A>,
  name: string,
  folders: Pick<Folders, 'config'>,
): A {
  const { document, path } = mergedDocument(readConcernDocument(name, folders));
  return decode(codec, document, path, 'config_invalid');
}

export function decodeConcern<A>(codec: t.Type<A, unknown, unknown>, files: ConcernDocument): A {
  const { document: merged } = mergedDocument(files);
  const value = decodeMerged(codec, merged, files);
  const unknown = unknownKeys(codec as t.Mixed, merged);
  if (unknown.length > 0) throw configInvalid(unknown, files);
  return value;
}

function decodeMerged<A>(codec: t.Type<A, unknown, unknown>, merged: unknown, files: ConcernDocument): A {
  try {
    return decode(codec, merged, files.user.path);
  } catch (error) {
    if (error instanceof InvalidInput && error.errors.length > 0) throw configInvalid(error.errors, files);
    throw error;
  }
}

function configInvalid(errors: readonly FieldError[], files: ConcernDocument): InvalidInput {
  const [first] = errors as [FieldError];
  const blamed = hasPointer(files.user.document, first.pointer) ? files.user.path : files.shipped.path;
  // A missing member is the user's doing only through a parent that they replaced.
  const path =
    first.detail.startsWith('is missing') && isObject(files.user.document) ? files.user.path : blamed;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return new InvalidInput('config_invalid', `${path}: ${first.pointer || '/'} ${first.detail}${more}`, {
    errors,
    facts: { path },
    hint: `Correct ${path}; ./core config show lists what is in force.`,
  });
}

function readJsonObject(path: string): unknown {
  let text: string;
  try {
    text = readSmallFile(path);
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return undefined;
    throw new Failed('config_unreadable', `${path} cannot be read: ${messageOf(cause)}`, {
      cause,
      facts: { path },
    });
  }
  const document = parseJson(text.replace(/^\uFEFF/, ''), path);
  if (!isObject(document)) throw new InvalidInput('config_invalid', `${path}: / must be a JSON object`);
  return document;
}

export interface SettingRow {
  /** For example `agentd.port`. */
  readonly key: string;
  readonly value: unknown;
  readonly source: 'flag' | 'environment' | 'running' | 'user' | 'default';
  /** The flag, variable or file (of a running service, where `source` is `running`) that gave the value. */
  readonly where: string;
}

/**
 * The values of one concern in force, each with the file that it comes from. A list is one value.
 * @param overrides what flags and environment give in place of the files
 */
export function describeConcern(
  name: string,
  folders: Pick<Folders, 'config'>,
  overrides: readonly SettingRow[] = [],
): SettingRow[] {
  const files = readConcernDocument(name, folders);
  const { shipped, user } = files;
  return leaves(mergedDocument(files).document, []).map(([path, value]): SettingRow => {
    const pointer = path.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
    const key = [name, ...path].join('.');
    const override = overrides.find((row) => row.key === key);
    if (override !== undefined) return override;
    const mine = hasPointer(user.document, pointer);
    return {
      key,
      value,
      source: mine ? 'user' : 'default',
      where: mine ? user.path : shipped.path,
    };
  });
}

function leaves(value: unknown, path: readonly string[]): [readonly string[], unknown][] {
  if (!isObject(value) || Object.keys(value).length === 0) return [[path, value]];
  return Object.entries(value).flatMap(([key, member]) => leaves(member, [...path, key]));
}

/** A flag or variable that may give a setting. */
type Giver = readonly [
  value: string | number | undefined,
  where: string,
  source: Exclude<SettingRow['source'], 'running' | 'user' | 'default'>,
];

/**
 * What the first of the flags and variables gives for a setting; an empty variable gives nothing.
 * @throws InvalidInput (`config_invalid`)
 */
export function overrideRow(key: string, codec: t.Mixed, givers: readonly Giver[]): SettingRow | null {
  const found = givers.find(
    ([value, , source]) => value !== undefined && (source === 'flag' || value !== ''),
  );
  if (found === undefined) return null;
  const [given, where, source] = found;
  return { key, value: valueIn(String(given), codec, `${where} (${key})`), source, where };
}

/** The words `null` and `none` stand for null, digits for a number, where the setting takes one. */
function valueIn(text: string, codec: t.Mixed, what: string): unknown {
  const candidates: unknown[] = [text];
  if (/^\d+$/.test(text)) candidates.unshift(Number(text));
  if (text === 'null' || text === 'none') candidates.unshift(null);
  const fitting = candidates.find((candidate) => codec.is(candidate));
  if (fitting !== undefined) return fitting;
  try {
    return decode(codec, candidates[0], what);
  } catch (error) {
    const rule = error instanceof InvalidInput ? error.errors[0]?.detail : undefined;
    throw new InvalidInput('config_invalid', `${what} ${rule ?? 'is not valid'}`, { cause: error });
  }
}

import * as t from 'io-ts';
import { integerBetween, Timestamp } from '#kit/decode.ts';

/** Of the file, not of Core: a reader refuses a higher one. */
export const formatVersion = 1;

/** The first entry of a backup says what it is, the last one what is in it; its end is missing without it. */
export const headName = 'core-backup.json';
export const manifestName = 'manifest.json';

export const Head = t.strict({
  format: t.literal('core-backup'),
  format_version: integerBetween(1, 1_000_000),
  core_version: t.string,
  created_at: Timestamp,
});
export type Head = t.TypeOf<typeof Head>;

export const BackedUpFile = t.strict({ path: t.string, size: t.number, sha256: t.string });
export type BackedUpFile = t.TypeOf<typeof BackedUpFile>;

export const LeftOut = t.strict({ what: t.string, why: t.string });
export type LeftOut = t.TypeOf<typeof LeftOut>;

export const Counts = t.strict({
  runs: t.number,
  events: t.number,
  stores: t.number,
  repositories: t.number,
  files: t.number,
  /** Of all files together, before compression. */
  bytes: t.number,
});
export type Counts = t.TypeOf<typeof Counts>;

export const Manifest = t.strict({
  ...Head.type.props,
  folders: t.strict({ state: t.string, config: t.string }),
  with_secrets: t.boolean,
  counts: Counts,
  files: t.array(BackedUpFile),
  left_out: t.array(LeftOut),
});
export type Manifest = t.TypeOf<typeof Manifest>;

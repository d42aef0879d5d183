import * as t from 'io-ts';
import { NonEmptyString, nullable, ObjectId, optional, stringThat, Timestamp } from '../../decode.ts';
import { withoutSecrets } from '../../redaction/masked-text.ts';
import { RepositoryName } from './members.ts';

const AbsolutePath = stringThat(
  'AbsolutePath',
  'an absolute path without NUL',
  (text) => text.startsWith('/') && !text.includes('\0'),
);

/** A name that is configured or known already, an absolute path, or both. */
export const WantedRepository = t.union([
  t.union([RepositoryName, AbsolutePath]),
  t.strict({ name: RepositoryName, path: AbsolutePath, commit: optional(withoutSecrets(NonEmptyString)) }),
]);
export type WantedRepository = t.TypeOf<typeof WantedRepository>;

/** The body of `POST /v1/admin/refresh`. */
export const RefreshRequest = t.strict({
  /** Default: every repository that is configured or known. */
  repositories: optional(t.array(WantedRepository)),
  /** Read every file again, not only what changed. */
  full: optional(t.boolean),
  /** Make the projections and the text index again. */
  rebuild: optional(t.boolean),
  /** Answer when it is done; default true. */
  wait: optional(t.boolean),
});
export type RefreshRequest = t.TypeOf<typeof RefreshRequest>;

/** How many files were left out, by reason. */
export const SkippedFiles = t.strict({
  binary: t.number,
  too_large: t.number,
  ignored: t.number,
  link: t.number,
  submodule: t.number,
  lfs: t.number,
  unreadable: t.number,
});

/** What a refresh did with a repository that it could read. */
export const RefreshedRepository = t.strict({
  repository: t.string,
  /** null where the repository has no commit yet. */
  commit: nullable(ObjectId),
  /** In the record now; `read` of them this time. */
  files: t.number,
  read: t.number,
  unchanged: t.number,
  /** That were in the record and are no longer in the repository. */
  closed: t.number,
  skipped: SkippedFiles,
  /** In the record now. */
  symbols: t.number,
  edges: t.number,
  took_ms: t.number,
});
export type RefreshedRepository = t.TypeOf<typeof RefreshedRepository>;

/** One that it could not read; what was stored of it stays. */
export const FailedRepository = t.strict({
  repository: t.string,
  error: t.strict({ code: t.string, detail: t.string }),
});
export type FailedRepository = t.TypeOf<typeof FailedRepository>;

export const KnownRepository = t.strict({
  repository: t.string,
  path: t.string,
  commit: nullable(ObjectId),
  files: t.number,
  /** When it was last read to the end; null when it never was. */
  at: nullable(Timestamp),
  /** Whether the last reading was not cut off. */
  complete: t.boolean,
});
export type KnownRepository = t.TypeOf<typeof KnownRepository>;

import * as t from 'io-ts';
import { nullable, oneOf, Timestamp } from '../../decode.ts';
import { FailedRepository, KnownRepository, RefreshedRepository } from './refresh.ts';

/** `GET /v1/repositories`. */
export const RepositoriesReply = t.strict({ repositories: t.array(KnownRepository) });
export type RepositoriesReply = t.TypeOf<typeof RepositoriesReply>;

/** One refresh, under way or over. Answer of `POST /v1/admin/refresh` and of `GET` there. */
export const RefreshStatus = t.strict({
  id: t.string,
  state: oneOf(['running', 'done', 'failed']),
  /** Name of the token that asked; `core-context` for its own. */
  by: t.string,
  started_at: Timestamp,
  finished_at: nullable(Timestamp),
  /** What is done now: files of a repository, or nodes of an index. */
  progress: nullable(t.strict({ what: t.string, done: t.number, total: t.number, path: nullable(t.string) })),
  repositories: t.array(t.union([RefreshedRepository, FailedRepository])),
  /** Projections and indexes that were made again. */
  rebuilt: t.array(t.string),
  /** Why it failed as a whole. */
  error: nullable(t.strict({ code: t.string, detail: t.string })),
});
export type RefreshStatus = t.TypeOf<typeof RefreshStatus>;

/** `GET /v1/admin/check`. */
export const CheckReply = t.strict({
  ok: t.boolean,
  record: t.strict({
    /** SQLite's own words; none when it is sound. */
    damage: t.array(t.string),
    orphans: t.number,
    counts: t.record(t.string, t.number),
  }),
  /** Record against mirror or projection. */
  graph: t.strict({ engine: t.string, ok: t.boolean, detail: t.string, differences: t.array(t.string) }),
  took_ms: t.number,
});
export type CheckReply = t.TypeOf<typeof CheckReply>;

import * as t from 'io-ts';
import { nullable, oneOf, optional, Timestamp } from '../../decode.ts';
import { Limit, QueryText, RepositoryName, Source } from './members.ts';
import { entityKinds } from './vocabulary.ts';

export const SearchRequest = t.strict({
  query: QueryText,
  limit: optional(Limit),
  kinds: optional(t.array(oneOf(entityKinds))),
  /** Its whole name, or the end of it: `demo/hello` finds `local/demo/hello`. */
  repository: optional(RepositoryName),
  /** Only what was valid then; default now. */
  as_of: optional(Timestamp),
});
export type SearchRequest = t.TypeOf<typeof SearchRequest>;

export const SearchResult = t.strict({
  id: t.string,
  kind: oneOf(entityKinds),
  title: t.string,
  repository: nullable(t.string),
  path: nullable(t.string),
  /** Lines count from 1; both ends belong to it. */
  start_line: nullable(t.number),
  end_line: nullable(t.number),
  snippet: t.string,
  /** 0 to 1; comparable within one reply alone. */
  score: t.number,
  why: t.strict({
    /** The query's words that matched its text, best first. */
    terms: t.array(t.string),
    /** How much of the score its text gave. */
    text: t.number,
    /** What in the query names it, by its whole title or path or as a place in a stack trace; such results come first. */
    named: nullable(t.string),
    /** What else it was found through: an edge from another result. */
    edges: t.array(t.strict({ kind: t.string, from: t.string, score: t.number })),
  }),
});
export type SearchResult = t.TypeOf<typeof SearchResult>;

export const SearchReply = t.strict({
  results: t.array(SearchResult),
  source: Source,
  took_ms: t.number,
});
export type SearchReply = t.TypeOf<typeof SearchReply>;

import * as t from 'io-ts';
import {
  integerBetween,
  listOfAtMost,
  NonEmptyString,
  nullable,
  numberBetween,
  oneOf,
  optional,
  stringThat,
  Timestamp,
} from '../../decode.ts';
import { textMasked, withoutSecrets } from '../../redaction/masked-text.ts';
import { Limit, QueryText, Source } from './members.ts';
import { memoryLayers } from './vocabulary.ts';

/** A codec's type as a caller writes it: what may be undefined may be left out. */
type Written<T> = { [K in keyof T as undefined extends T[K] ? K : never]?: T[K] } & {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
};

export const maxContentLength = 100_000;

export const MemoryLayer = oneOf(memoryLayers);

/** NUL ends a text in many a program, and a lone surrogate has no UTF-8: neither would come back as it was. */
const isStorable = (text: string) => text.isWellFormed() && !text.includes('\0');

export const MemoryContent = stringThat(
  'MemoryContent',
  `a text of 1 to ${maxContentLength} characters, not only white space, without NUL and lone surrogates`,
  (text) => text.trim() !== '' && text.length <= maxContentLength && isStorable(text),
);

const Name = stringThat(
  'Name',
  'a text of 1 to 500 characters on one line, without control characters and lone surrogates',
  (text) => text.trim() !== '' && text.length <= 500 && isStorable(text) && !/[\x00-\x1f\x7f]/.test(text),
);

const Step = stringThat(
  'Step',
  'a text of 1 to 2000 characters, without NUL and lone surrogates',
  (text) => text.trim() !== '' && text.length <= 2_000 && isStorable(text),
);

const Told = textMasked(Name);
const Id = withoutSecrets(Name);

const Share = numberBetween(0, 1, 'a number from 0 to 1');

/** Ids of entities, as search gives them. */
const About = listOfAtMost(Id, 100);
const Sessions = listOfAtMost(Id, 100);
const Steps = listOfAtMost(Step, 100);
const Sequence = integerBetween(0, 1_000_000_000_000);

/** Body of `POST /v1/memory/record`. */
export const RecordRequest = t.strict({
  layer: MemoryLayer,
  content: textMasked(MemoryContent),
  /** A word of the caller's, for example `rejection`; default the layer. `summary` sums up its session. */
  kind: optional(nullable(Told)),
  about: optional(nullable(About)),
  /** Who or what said it, stored behind the name of the token; everything of a source can be forgotten at once. */
  source: optional(nullable(Told)),
  /** A semantic memory with both is a fact: a newer one on the same two closes it. */
  subject: optional(nullable(Told)),
  predicate: optional(nullable(Told)),
  valid_from: optional(nullable(Timestamp)),
  valid_to: optional(nullable(Timestamp)),
  confidence: optional(nullable(Share)),
  /** Of the caller's choice: the same key and body again change nothing. */
  key: optional(nullable(Id)),
  /** What an episodic memory is ordered in; `seq` defaults to the next of its session. */
  session: optional(nullable(Id)),
  seq: optional(nullable(Sequence)),
  speaker: optional(nullable(Told)),
  at: optional(nullable(Timestamp)),
  /** Of a procedural memory. */
  steps: optional(nullable(listOfAtMost(textMasked(Step), 100))),
});
export type RecordRequest = Written<t.TypeOf<typeof RecordRequest>>;

export const RecordReply = t.strict({
  id: t.string,
  /** False for a repeated key and for the same text again, whose `id` is that of the memory that was there. */
  created: t.boolean,
  duplicate_of: nullable(t.string),
  /** Other memories whose text is nearly the same and may contradict this one, newest first. */
  similar_to: t.array(t.string),
  /** Facts whose validity this one ended. */
  closed: t.array(t.string),
  /** As the memory has it, other facts considered. */
  valid_from: Timestamp,
  valid_to: nullable(Timestamp),
  seq: nullable(t.number),
  /** How many secrets are masked in it. */
  masked: t.number,
});
export type RecordReply = t.TypeOf<typeof RecordReply>;

/** Body of `POST /v1/memory/lookup`. */
export const LookupRequest = t.strict({
  query: QueryText,
  /** Left out, null or empty: all three. */
  layer: optional(
    nullable(
      stringThat('Layer', `one of ${memoryLayers.join(', ')}; left out or empty for all`, (text) =>
        ['', ...memoryLayers].includes(text),
      ),
    ),
  ),
  limit: optional(Limit),
  /** Only memories about any of these entities. */
  about: optional(nullable(About)),
  /** Only what was valid then; default now. */
  as_of: optional(nullable(Timestamp)),
  /** Only of this session, or of any of these. */
  session: optional(nullable(t.union([Id, Sessions]))),
  /** Only what this source said, first or again: as it was given to `record`, or as it is stored behind the name of the token. */
  source: optional(nullable(Told)),
});
export type LookupRequest = Written<t.TypeOf<typeof LookupRequest>>;

const facts = {
  id: t.string,
  /** The first that it was recorded under; null for none. */
  key: nullable(t.string),
  layer: MemoryLayer,
  kind: t.string,
  title: t.string,
  about: t.array(t.string),
  /** Other memories whose text is nearly the same, newest first, at most 10. */
  similar_to: t.array(t.string),
  source: nullable(t.string),
  subject: nullable(t.string),
  predicate: nullable(t.string),
  confidence: nullable(t.number),
  session: nullable(t.string),
  seq: nullable(t.number),
  speaker: nullable(t.string),
  at: nullable(Timestamp),
  steps: t.array(t.string),
  /** How often a playbook worked, and did not. */
  worked: t.number,
  failed: t.number,
  recorded_at: Timestamp,
  valid_from: Timestamp,
  valid_to: nullable(Timestamp),
};

/** `GET /v1/memory/{id}`. */
export const MemoryDetail = t.strict({ ...facts, content: t.string });
export type MemoryDetail = t.TypeOf<typeof MemoryDetail>;

export const LookupResult = t.strict({
  ...facts,
  /** Its content; of a long one the beginning. */
  text: t.string,
  text_truncated: t.boolean,
  /** 0 to 1; comparable within one reply alone. */
  score: t.number,
  why: t.strict({
    /** The query's words that it has, best first. */
    terms: t.array(t.string),
    /** What its own text gave, by words and by likeness, 0 to 1. */
    text: t.number,
    /** The name in the query that is its subject's or speaker's. */
    subject: nullable(t.string),
    /** What memories beside it in its session gave. */
    neighbours: t.array(t.strict({ relation: t.string, id: t.string, score: t.number })),
    /** What its session as a whole gave. */
    session: t.number,
    /** Likeness of its vector to the query's, 0 to 1; only where an embeddings model is configured and answers. */
    vector: optional(t.number),
    /** Share of times that a playbook worked, smoothed; null where there is none. */
    success: nullable(t.number),
  }),
});
export type LookupResult = t.TypeOf<typeof LookupResult>;

export const LookupReply = t.strict({
  results: t.array(LookupResult),
  source: Source,
  took_ms: t.number,
  /** Ids in `about` that no entity has. */
  unknown_about: t.array(t.string),
  /** Set if no memory has the source that was asked for: some of the sources that there are. */
  unknown_source: nullable(t.strict({ source: t.string, known: t.array(t.string) })),
});
export type LookupReply = t.TypeOf<typeof LookupReply>;

/** Body of `POST /v1/memory/outcome`: how a playbook did. */
export const OutcomeRequest = t.strict({
  id: withoutSecrets(NonEmptyString),
  worked: t.boolean,
  /** The run in which; said twice of one run, the later holds. */
  run: optional(nullable(Id)),
});
export type OutcomeRequest = Written<t.TypeOf<typeof OutcomeRequest>>;

export const OutcomeReply = t.strict({ id: t.string, worked: t.number, failed: t.number });
export type OutcomeReply = t.TypeOf<typeof OutcomeReply>;

/** Body of `POST /v1/memory/forget`: either of the two. */
export const ForgetRequest = t.strict({
  id: optional(nullable(withoutSecrets(NonEmptyString))),
  source: optional(nullable(Told)),
  /** Kept with what was forgotten; without its content. */
  reason: optional(nullable(Told)),
});
export type ForgetRequest = Written<t.TypeOf<typeof ForgetRequest>>;

export const ForgetReply = t.strict({
  /** Memories that are gone for good. */
  forgotten: t.number,
  /** The first 1,000 of them. */
  ids: t.array(t.string),
  /** Memories of the source that others had said in the same words: they stay, as theirs. */
  kept: t.number,
  /** Whether their bytes are gone from the files too; if not, a reader was at work, and it happens at the next forgetting or start. */
  wiped: t.boolean,
});
export type ForgetReply = t.TypeOf<typeof ForgetReply>;

/** One line of an export: all that is known of a memory. */
export const MemoryLine = t.strict({
  id: stringThat('MemoryId', "a memory's id: memory: and letters, digits and '-'", (text) =>
    /^memory:[A-Za-z0-9-]{1,100}$/.test(text),
  ),
  layer: MemoryLayer,
  kind: Name,
  content: MemoryContent,
  about: About,
  source: nullable(Name),
  subject: nullable(Name),
  predicate: nullable(Name),
  confidence: nullable(Share),
  session: nullable(Name),
  seq: nullable(Sequence),
  speaker: nullable(Name),
  at: nullable(Timestamp),
  steps: Steps,
  recorded_at: Timestamp,
  valid_from: Timestamp,
  /** As it was stated; what newer facts do to it follows from them. */
  valid_to: nullable(Timestamp),
  /** Every time it was said, the first included. */
  sightings: t.array(
    t.strict({
      source: nullable(Name),
      key: nullable(Name),
      digest: t.string,
      seen_at: Timestamp,
      first: t.boolean,
    }),
  ),
  outcomes: t.array(t.strict({ run: nullable(Name), worked: t.boolean, at: Timestamp })),
});
export type MemoryLine = t.TypeOf<typeof MemoryLine>;

export const ImportReply = t.strict({
  lines: t.number,
  created: t.number,
  unchanged: t.number,
  /** Forgotten here before; `force` brings them back. */
  skipped_forgotten: t.number,
  /** Lines that contradict what is there, which stays as it is. */
  conflicts: t.array(t.strict({ line: t.number, id: t.string, reason: t.string })),
  /** Memories about entities that are not known here yet. */
  unlinked: t.number,
});
export type ImportReply = t.TypeOf<typeof ImportReply>;

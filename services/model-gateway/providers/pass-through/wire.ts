import type { Usage } from '#kit/model-answers/usage.ts';
import type { UpstreamEntry } from '../../configuration.ts';
import type { DialectName } from '../endpoints.ts';
import type { ModelCall } from '../upstream.ts';

/** A JSON object that an upstream sent. */
export type Json = Readonly<Record<string, unknown>>;

/** How a dialect looks between the gateway and an upstream that speaks it itself. */
export interface Wire {
  readonly dialect: DialectName;
  /** Below `base_url`, from its slash on. @param model its name there */
  path(call: ModelCall, model: string): string;
  /** Beside what belongs to the connection; the credential is put over them. */
  headers(call: ModelCall): Readonly<Record<string, string>>;
  credential(text: string): Readonly<Record<string, string>>;
  body(call: ModelCall, there: There): Buffer;
  /** Whether a client may see a header of an answer. */
  isAnswerHeader(name: string): boolean;
  /** Of a whole answer; null where it reports none. */
  usage(answer: Json, call: ModelCall): Usage | null;
  readonly events: EventWire;
  /** Under which name an upstream reads the limit of an answer, where there is more than one. */
  readonly limitMember?: {
    usual(entry: UpstreamEntry): LimitMember;
    /** What a refusal teaches; null where it says nothing of it. */
    learn(status: number, text: string): LimitMember | null;
  };
}

export type LimitMember = 'max_tokens' | 'max_completion_tokens';

/** What an upstream needs of a request beside what its client wrote. */
export interface There {
  readonly model: string;
  readonly limitMember: LimitMember;
  /** It reports the usage of a stream where it is asked to. */
  readonly streamUsage: boolean;
}

/**
 * What an event says of its stream: that more follows, that nothing follows, that the upstream failed, or nothing but the usage,
 * which a client may not have asked for.
 */
export type Meaning = 'more' | 'last' | 'failure' | 'usage';

/** One of the answers that a request asks for at once. */
export interface Part {
  readonly place: string;
  /** The upstream says why it ended. */
  readonly finished: boolean;
}

/** A text, or what holds texts, that the model goes on with in later events at the same place. */
export interface Delta {
  readonly place: string;
  readonly holder: Record<string, unknown>;
  readonly member: string;
}

/** The events of a stream, each parsed. */
export interface EventWire {
  /** How many answers a request asks for. */
  answers(request: Json): number;
  /** What an answer ends with, for what is said of one that does not. */
  readonly end: string;
  meaning(event: Json): Meaning;
  /** The answers that an event belongs to. A stream is whole when each of them has finished. */
  parts(event: Json): readonly Part[];
  deltas(event: Json): readonly Delta[];
  /** null for an event that reports no usage. @param before what earlier events reported */
  usage(event: Json, before: Usage | null): Usage | null;
  /** The status of HTTP that an error means which came as the first event; null where it does not say. */
  status(event: Json): number | null;
}

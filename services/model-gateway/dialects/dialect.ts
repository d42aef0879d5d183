import type { TokenPlaces } from '#kit/http/route.ts';
import type { Usage } from '#kit/model-answers/usage.ts';
import type { Endpoint } from '../providers/endpoints.ts';
import type { OpenAiError } from '../providers/failure.ts';
import type { Json, Wire } from '../providers/pass-through/wire.ts';
import type { Shape } from './allowed.ts';
import type { SseEvent } from './answer-events.ts';

/** The interface of a maker of models, as its clients speak it here and its servers there. */
export interface Dialect {
  readonly wire: Wire;
  readonly endpoints: Readonly<Partial<Record<Endpoint, EndpointFacts>>>;
  /** Where its clients put a token beside `authorization`. */
  readonly tokenIn: TokenPlaces;
  /** Tokens of one answer that a request bounds it to, and where it says so; null where it does not. */
  outputAsked(request: Json): OutputAsked | null;
  /** Answers that a request asks for at once; at least 1. */
  answersAsked(request: Json): number;
  media(request: Json): Media;
  /** The name by which `allowed` knows a member, where its servers know a member by more than one. */
  memberName?(name: string): string;
  /** The parts of a conversation in order, by which the nearest recording is found. */
  turns(request: Json): readonly unknown[];
  errorBody(error: OpenAiError, status: number): Json;
  /** The last event of a stream that breaks. */
  errorEvent(error: OpenAiError, status: number): string;
  /** How it is spoken with an upstream that knows chat completions alone; null where that is not possible. */
  readonly translation: Translation | null;
}

export interface EndpointFacts {
  readonly path: string;
  readonly summary: string;
  /** Whether its answer is a stream: always, never, or where a request says `stream`. */
  readonly stream: 'always' | 'never' | 'asked';
  readonly for: 'chat' | 'embeddings';
  /** Tokens are used; else it only counts them, which costs nothing. */
  readonly uses: boolean;
  readonly rules: Rules;
  /** What a request with the key of a run may hold. */
  readonly allowed: Shape;
  /** Members of a request that the gateway reads or writes, in each spelling that an upstream knows. */
  readonly read: readonly string[];
}

export type Rule = readonly [rule: string, keeps: (value: unknown, request: Json) => boolean];
/** By name of a member. */
export type Rules = Readonly<Record<string, Rule>>;

export interface OutputAsked {
  readonly param: string;
  readonly tokens: number;
}

/** What a request holds or names beside text. */
export interface Media {
  /** Characters of each picture; 0 for one that stands elsewhere. */
  readonly images: readonly number[];
  /** How many files and earlier conversations it names and does not hold. */
  readonly elsewhere: number;
}

/** From a dialect to chat completions and back, without any input or output of its own. */
export interface Translation {
  /** @throws what names the member that has no counterpart */
  toChat(request: Record<string, unknown>): Record<string, unknown>;
  /** The words by which clients recognise that a conversation is too long for the model. */
  overflow(error: OpenAiError): OpenAiError;
  /** @param inputTokens estimate of the input, until the upstream counts it */
  readonly FromChat: new (
    request: Record<string, unknown>,
    inputTokens: number,
  ) => {
    whole(answer: Record<string, unknown>): Record<string, unknown>;
    chunk(chunk: Record<string, unknown>): SseEvent[];
    end(usage: Usage | null): SseEvent[];
  };
}

import type { Connections } from '#kit/http/client.ts';
import type { Usage } from '#kit/model-answers/usage.ts';
import type { GatewayConfig, ModelEntry, UpstreamEntry } from '../configuration.ts';
import type { ReadCredential } from './credential.ts';
import type { Endpoint } from './endpoints.ts';

/** What a client asked, decoded as far as the gateway has to know it. */
export interface ModelCall {
  readonly endpoint: Endpoint;
  /** The body as it came. */
  readonly bytes: Buffer;
  /** The same, parsed, with the model where the path names it. Numbers in it may have lost digits; only `bytes` are exact. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly stream: boolean;
  /** The client itself asked for the usage chunk of a stream. */
  readonly includeUsage: boolean;
  /** Of the client, those that go on to an upstream of its own dialect; in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The query of such a request, with its question mark where there is one. */
  readonly search?: string;
  /** The gateways that it has passed, this one too, for upstreams. */
  readonly via?: string;
  /** Tokens that one answer may have at most, because a budget binds the call; what the client asked for where it set a limit. */
  readonly outputLimit?: number | null;
  /** Estimate of the input. */
  readonly inputTokens?: number;
  /** Aborted when the client leaves, and when the call takes too long. */
  readonly signal: AbortSignal;
}

/** An answer of which the first byte is there. */
export interface UpstreamAnswer {
  readonly status: number;
  /** In lower case; only those that a client may see. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * In the dialect of the call, masked. It throws UpstreamFailure where the upstream breaks off; leaving it ends the request upstream.
   */
  readonly body: AsyncIterable<Uint8Array>;
  /** Once `body` has ended, was left or broke; null where the upstream reported none. */
  readonly usage: () => Usage | null;
  /** True if the model wrote more after it had reported the usage; absent: false. */
  readonly usageIsPartial?: () => boolean;
  /** Bytes of the model's own words in the answer so far, about; absent: as many as `body` gave. */
  readonly contentBytes?: () => number;
}

/** A body that is here already, and can be given on at once. */
export class WholeBody implements AsyncIterable<Uint8Array> {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    yield this.bytes;
  }
}

export function wholeAnswer({
  status,
  headers,
  text,
  usage,
}: Pick<UpstreamAnswer, 'status' | 'headers'> & {
  /** JSON, masked. */
  readonly text: string;
  readonly usage: Usage | null;
}): UpstreamAnswer {
  const bytes = Buffer.from(text);
  const own = { 'content-type': 'application/json', 'content-length': String(bytes.length) };
  return { status, headers: { ...headers, ...own }, body: new WholeBody(bytes), usage: () => usage };
}

/** One place that answers calls for one model. */
export interface Upstream {
  /** For people and measurements, for example `api.openai.com/gpt-5.2`; unique among those of a model. */
  readonly name: string;
  /** Whether it can be asked there; absent: always. */
  answers?(endpoint: Endpoint): boolean;
  /** @throws UpstreamFailure for everything but an answer that can be given on, those with a status of 400 and more too */
  send(call: ModelCall): Promise<UpstreamAnswer>;
}

export interface UpstreamFacts {
  readonly model: string;
  readonly name: string;
  readonly entry: UpstreamEntry;
  readonly limits: ModelEntry['limits'];
}

export type MakeUpstream = (facts: UpstreamFacts) => Upstream;

/** What adapters of every kind need beside the entry itself. */
export interface AdapterParts {
  readonly connections: Connections;
  readonly credential: (name: string | null) => ReadCredential;
  readonly timeouts: Pick<GatewayConfig['timeouts'], 'first_token_ms' | 'idle_ms'>;
  readonly userAgent: string;
}

export interface UpstreamOptions extends Omit<UpstreamFacts, 'model'>, Omit<AdapterParts, 'credential'> {
  readonly credential: ReadCredential;
}

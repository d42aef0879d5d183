import type { Credential } from '../credential.ts';
import { lateFailure, type Progress, UpstreamFailure } from '../failure.ts';
import type { Mask } from '../mask.ts';
import {
  type ModelCall,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamOptions,
  wholeAnswer,
} from '../upstream.ts';
import { callOptionsOf } from './call-options.ts';
import { CompletionChunks, completionOf, usageFrom } from './chunks.ts';
import {
  endedEarly,
  failureFrom,
  StreamCutOff,
  UnexpectedAnswer,
  UntranslatableRequest,
} from './failures.ts';
import { anthropicFetch } from './fetch.ts';
import { type CallOptions, type LanguageModel, loadProvider, type StreamPart } from './provider.ts';
import { decodeChat } from './request.ts';

/** So long, in milliseconds, an upstream may take to end after its last event. */
const graceMs = 1_000;

/** Anthropic's Messages API behind OpenAI's chat completions. */
export class AnthropicUpstream implements Upstream {
  readonly name: string;
  readonly #options: UpstreamOptions;
  #provider: ReturnType<typeof loadProvider> | null = null;

  constructor(options: UpstreamOptions) {
    this.name = options.name;
    this.#options = options;
  }

  async send(call: ModelCall): Promise<UpstreamAnswer> {
    const own = new AbortController();
    const abortSignal = AbortSignal.any([call.signal, own.signal]);
    const credential = this.#options.credential();
    const { mask } = credential;
    const progress: Asked['progress'] = { stage: 'unsent' };
    try {
      const { language, options } = await this.#prepare(call, credential, progress);
      const asked: Asked = { call, language, options: { ...options, abortSignal }, own, mask, progress };
      return call.stream ? await this.#stream(asked) : await this.#whole(asked);
    } catch (error) {
      own.abort();
      throw this.#failure(error, { call, own, mask, progress }, false);
    }
  }

  async #prepare(
    call: ModelCall,
    { text }: Credential,
    progress: Asked['progress'],
  ): Promise<{ language: LanguageModel; options: CallOptions }> {
    if (call.endpoint !== 'chat/completions')
      throw new UntranslatableRequest(
        `'${call.endpoint}' is not possible with an Anthropic model`,
        null,
        'unsupported_endpoint',
      );
    const { entry, limits, connections } = this.#options;
    const { base_url, model } = entry;
    const chat = decodeChat(call.request);
    this.#provider ??= loadProvider();
    const { AnthropicMessagesLanguageModel, getModelCapabilities } = await this.#provider;
    const capabilities = getModelCapabilities(model);
    const outputTokens = call.outputLimit ?? limits?.output_tokens ?? null;
    const options = callOptionsOf(chat, { model, capabilities, outputTokens });
    const language = new AnthropicMessagesLanguageModel(model, {
      provider: 'anthropic.messages',
      baseURL: base_url.replace(/\/+$/, ''),
      headers: { 'anthropic-version': '2023-06-01' },
      fetch: anthropicFetch({ connections, credential: text, progress, via: call.via }),
      supportedUrls: () => ({ 'image/*': [/^https:/] }),
    });
    return { language, options };
  }

  async #whole({ language, options, mask }: Asked): Promise<UpstreamAnswer> {
    const result = await language.doGenerate(options);
    const text = JSON.stringify(completionOf(result, this.#options.entry.model));
    const headers = requestId(result.response?.headers, mask);
    return wholeAnswer({ status: 200, headers, text: mask.hide(text), usage: usageFrom(result.usage) });
  }

  async #stream(asked: Asked): Promise<UpstreamAnswer> {
    const { call, language, options, own, mask } = asked;
    const { model } = this.#options.entry;
    const chunks = new CompletionChunks({ model, includeUsage: call.includeUsage, mask });
    const { first_token_ms } = this.#options.timeouts;
    const late = () => own.abort(lateFailure(this.name, 'first', first_token_ms));
    const timer = setTimeout(late, first_token_ms);
    const { reader, response, first } = await this.#begin(language, options, chunks).finally(() =>
      clearTimeout(timer),
    );
    const failure = (error: unknown) => this.#failure(error, asked, true);

    /** The upstream is read only as far as somebody wants the events. */
    async function* events(): AsyncGenerator<Uint8Array> {
      try {
        yield Buffer.from(first);
        while (!chunks.finished) {
          const { done, value } = await reader.read();
          if (done) throw new StreamCutOff(endedEarly);
          const events = chunks.of(value);
          if (events !== '') yield Buffer.from(events);
        }
      } catch (error) {
        throw failure(error);
      } finally {
        if (!chunks.finished) own.abort();
        readOn(reader, own);
      }
    }
    return {
      status: 200,
      headers: { 'content-type': 'text/event-stream; charset=utf-8', ...requestId(response?.headers, mask) },
      body: events(),
      usage: () => chunks.usage,
      usageIsPartial: () => chunks.usageIsPartial,
      contentBytes: () => chunks.contentBytes,
    };
  }

  async #begin(language: LanguageModel, options: CallOptions, chunks: CompletionChunks) {
    const { stream, response } = await language.doStream(options);
    const reader = stream.getReader() as ReadableStreamDefaultReader<StreamPart>;
    return { reader, response, first: await firstEvents(reader, chunks) };
  }

  /** A client that left hears nothing, so its own reason is kept. */
  #failure(
    error: unknown,
    { call, own, mask, progress }: Pick<Asked, 'call' | 'own' | 'mask' | 'progress'>,
    given: boolean,
  ): Error {
    if (own.signal.reason instanceof UpstreamFailure) return own.signal.reason;
    if (call.signal.aborted) {
      const { reason } = call.signal;
      return reason instanceof Error ? reason : new Error('the call was ended');
    }
    const { idle_ms: idleMs } = this.#options.timeouts;
    const context = { upstream: this.name, given, progress: progress.stage, idleMs };
    return failureFrom(error, { ...context, mask });
  }
}

interface Asked {
  readonly call: ModelCall;
  readonly language: LanguageModel;
  readonly options: CallOptions;
  /** Ends the request upstream, whatever the client does. */
  readonly own: AbortController;
  readonly mask: Mask;
  readonly progress: { stage: Progress };
}

async function firstEvents(
  reader: ReadableStreamDefaultReader<StreamPart>,
  chunks: CompletionChunks,
): Promise<string> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new UnexpectedAnswer('ended its stream before the first event');
    const events = chunks.of(value);
    if (events !== '') return events;
  }
}

/** So that the connection can be used again; an upstream that keeps it open after its last event loses it. */
function readOn(reader: ReadableStreamDefaultReader<StreamPart>, own: AbortController): void {
  const limit = setTimeout(() => own.abort(), graceMs).unref();
  reader
    .read()
    .catch(() => {})
    .finally(() => clearTimeout(limit));
}

function requestId(
  headers: Readonly<Record<string, string>> | undefined,
  mask: Mask,
): Record<string, string> {
  const id = headers?.['request-id'];
  return id === undefined ? {} : { 'x-upstream-request-id': mask.hide(id) };
}

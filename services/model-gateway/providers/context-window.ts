import * as t from 'io-ts';
import { decodeJson, nullable, optional } from '#kit/decode.ts';
import type { UpstreamEntry } from '../configuration.ts';
import type { AdapterParts } from './upstream.ts';

const Tokens = optional(nullable(t.number));

/** What lists of models say of one; no two kinds of server call its context window the same. */
const Listed = t.type({
  id: t.string,
  /** OpenRouter and Together. */
  context_length: Tokens,
  /** vLLM and SGLang. */
  max_model_len: Tokens,
  /** Groq. */
  context_window: Tokens,
  /** Mistral. */
  max_context_length: Tokens,
  /** Anthropic. */
  max_input_tokens: Tokens,
  /** llama.cpp: as it was started, and as the model was trained. */
  meta: optional(nullable(t.type({ n_ctx: Tokens, n_ctx_train: Tokens }))),
});
type Listed = t.TypeOf<typeof Listed>;

const List = t.type({ data: t.array(Listed) });

const maxBytes = 8 * 1024 * 1024;

/** What Google says of one model. */
const GoogleModel = t.type({ inputTokenLimit: Tokens });

/** How a kind is asked about its models, by the credential. */
interface Question {
  /** Below `base_url`. @param model its name there */
  path(model: string): string;
  headers(credential: string): Readonly<Record<string, string>>;
  /** Beside the credential. */
  readonly more?: Readonly<Record<string, string>>;
  tokens(answer: string, model: string): number | null;
}

const questions: Readonly<Record<UpstreamEntry['kind'], Question>> = {
  openai: {
    path: () => '/models',
    headers: (credential) => ({ authorization: `Bearer ${credential}` }),
    tokens: tokensInList,
  },
  anthropic: {
    path: () => '/models?limit=1000',
    headers: (credential) => ({ 'x-api-key': credential }),
    more: { 'anthropic-version': '2023-06-01' },
    tokens: tokensInList,
  },
  google: {
    path: (model) => `/models/${encodeURIComponent(model)}`,
    headers: (credential) => ({ 'x-goog-api-key': credential }),
    tokens: (answer) => smallest([decodeJson(GoogleModel, answer, 'the model').inputTokenLimit]),
  },
};

/** Tokens that input and answer have room in, as the upstream's list of models says; null where it does not. Never throws. */
export async function askContextTokens(
  { kind, base_url, model, credential = null }: UpstreamEntry,
  { connections, credential: credentialOf, userAgent }: Omit<AdapterParts, 'timeouts'>,
  signal: AbortSignal,
): Promise<number | null> {
  try {
    const { text } = credentialOf(credential)();
    const { path, headers, more, tokens } = questions[kind];
    const { statusCode, body } = await connections.request(`${base_url.replace(/\/+$/, '')}${path(model)}`, {
      method: 'GET',
      headers: {
        accept: 'application/json',
        'user-agent': userAgent,
        ...more,
        ...(text !== null && headers(text)),
      },
      signal,
    });
    const pieces: Buffer[] = [];
    let size = 0;
    for await (const piece of body) {
      size += piece.length;
      if (size > maxBytes) return null;
      pieces.push(piece);
    }
    if (statusCode !== 200) return null;
    return tokens(Buffer.concat(pieces).toString(), model);
  } catch {
    return null;
  }
}

function tokensInList(answer: string, model: string): number | null {
  const { data } = decodeJson(List, answer, 'the list of models');
  // A server with one model answers with it whatever the request calls it.
  const found = data.find(({ id }) => id === model) ?? (data.length === 1 ? data[0] : undefined);
  return found === undefined ? null : tokensOf(found);
}

function tokensOf({ meta, ...listed }: Listed): number | null {
  const { context_length, max_model_len, context_window, max_context_length, max_input_tokens } = listed;
  const trained = meta?.n_ctx ?? meta?.n_ctx_train;
  const windows = [context_length, max_model_len, context_window, max_context_length];
  return smallest([...windows, max_input_tokens, trained]);
}

function smallest(said: readonly (number | null | undefined)[]): number | null {
  const sizes = said.filter((size) => size != null && Number.isInteger(size) && size > 0) as number[];
  return sizes.length === 0 ? null : Math.min(...sizes);
}

import type { DecodedCall } from './decode-call.ts';

/** Bytes of text for a token, on the low side so that too much is reserved rather than too little. */
const bytesPerToken = 3.5;
/** What an image costs with the models that we know, on the high side. */
const tokensOfImage = 2_000;
/** A file that lies at the upstream: as long as long documents are, or as the model can read. */
const tokensOfFile = 100_000;
/** For an answer that nobody bounded. */
const defaultOutput = 4_096;

export interface TokenEstimate {
  readonly inputTokens: number;
  /** Of all answers together. */
  readonly outputTokens: number;
  /** Of one answer; null for vectors. */
  readonly each: number | null;
}

/** What a call may use, for a reservation. */
export function estimateTokens(
  { endpoint, bytes, request }: Pick<DecodedCall, 'endpoint' | 'bytes' | 'request'>,
  {
    outputLimit,
    contextLimit = null,
  }: { readonly outputLimit: number | null; readonly contextLimit?: number | null },
): TokenEstimate {
  const parts = partsIn(request.messages);
  const images = imagesIn(parts);
  const text = Math.max(0, bytes.length - images.reduce((sum, length) => sum + length, 0));
  const files = filesElsewhere(parts) * Math.min(contextLimit ?? tokensOfFile, tokensOfFile);
  const inputTokens = Math.ceil(text / bytesPerToken) + images.length * tokensOfImage + files;
  if (endpoint === 'embeddings') {
    return { inputTokens: Math.max(inputTokens, tokensGiven(request.input)), outputTokens: 0, each: null };
  }
  const each = outputAsked(request)?.tokens ?? outputLimit ?? defaultOutput;
  const outputTokens = each * Math.max(numberIn(request.n), numberIn(request.best_of), 1);
  return { inputTokens, outputTokens, each };
}

/** Tokens of one answer that the client bounds it to: servers differ in which member they take, so that the greater counts. */
export function outputAsked(
  request: Readonly<Record<string, unknown>>,
): { readonly param: 'max_tokens' | 'max_completion_tokens'; readonly tokens: number } | null {
  const [older, newer] = [numberIn(request.max_tokens), numberIn(request.max_completion_tokens)];
  const tokens = Math.max(older, newer);
  if (tokens === 0) return null;
  return { param: older > newer ? 'max_tokens' : 'max_completion_tokens', tokens };
}

/** Inputs for vectors may be tokens already, which are shorter than words. */
function tokensGiven(input: unknown): number {
  return Array.isArray(input) ? input.flat().filter((one) => typeof one === 'number').length : 0;
}

/** 0 where there is none; what else it may be is refused before. */
function numberIn(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** Lengths of the pictures that stand in the request itself; 0 for those that stand elsewhere. Files and sounds count as text. */
function imagesIn(parts: Parts): number[] {
  const found: number[] = [];
  for (const part of parts) {
    const url = part?.image_url?.url ?? part?.image_url;
    if (typeof url !== 'string') continue;
    if (url.startsWith('data:image/')) found.push(url.length);
    else if (!url.startsWith('data:')) found.push(0);
  }
  return found;
}

/** How many files the request names and does not hold. */
function filesElsewhere(parts: Parts): number {
  let files = 0;
  for (const part of parts) {
    const { file = part, file_url } = part ?? {};
    if (file?.file_id != null || file?.file_url != null || file_url != null) files++;
  }
  return files;
}

// biome-ignore lint/suspicious/noExplicitAny: what clients send has every shape
type Parts = readonly any[];

function partsIn(messages: unknown): Parts {
  if (!Array.isArray(messages)) return [];
  const contents = messages.map((message) => message?.content).filter((content) => Array.isArray(content));
  return contents.length === 0 ? [] : contents.flat();
}

import type { DecodedCall } from './decode-call.ts';

/** Bytes of text for a token, on the low side so that too much is reserved rather than too little. */
const bytesPerToken = 3.5;
/** What an image costs with the models that we know, on the high side. */
const tokensOfImage = 2_000;
/** For an answer that nobody bounded. */
const defaultOutput = 4_096;
/** A shorter one is counted as the text that it is. */
const shortestImage = 8_192;

/** What a call may use, for a reservation. */
export function estimateTokens(
  { endpoint, bytes, request }: Pick<DecodedCall, 'endpoint' | 'bytes' | 'request'>,
  outputLimit: number | null,
): { readonly inputTokens: number; readonly outputTokens: number } {
  const images = imagesIn(request.messages);
  const text = Math.max(0, bytes.length - images.reduce((sum, length) => sum + length, 0));
  const inputTokens = Math.ceil(text / bytesPerToken) + images.length * tokensOfImage;
  if (endpoint === 'embeddings') return { inputTokens, outputTokens: 0 };
  const asked = outputAsked(request) ?? outputLimit ?? defaultOutput;
  return { inputTokens, outputTokens: asked * answersAsked(request) };
}

/** Tokens of one answer that the client bounds it to; null where it does not. */
export function outputAsked(request: Readonly<Record<string, unknown>>): number | null {
  const given = request.max_completion_tokens ?? request.max_tokens;
  return typeof given === 'number' && given >= 0 && Number.isFinite(given) ? Math.ceil(given) : null;
}

function answersAsked({ n }: Readonly<Record<string, unknown>>): number {
  return typeof n === 'number' && n > 1 && Number.isFinite(n) ? Math.min(Math.ceil(n), 1_000) : 1;
}

/** Lengths of the pictures and sounds that stand in the request itself. */
function imagesIn(messages: unknown): number[] {
  if (!Array.isArray(messages)) return [];
  const found: number[] = [];
  for (const message of messages) {
    const content = message?.content;
    if (!Array.isArray(content)) continue;
    for (const part of content) {
      const data = part?.image_url?.url ?? part?.input_audio?.data ?? part?.file?.file_data;
      if (typeof data === 'string' && data.length >= shortestImage) found.push(data.length);
    }
  }
  return found;
}

const knownEvents = new Set([
  'message_start',
  'message_delta',
  'message_stop',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'ping',
  'error',
]);

const knownDeltas = new Set([
  'text_delta',
  'input_json_delta',
  'thinking_delta',
  'signature_delta',
  'citations_delta',
  'compaction_delta',
]);

/** Kinds of content that a client of OpenAI's interface is given, or that come before it. */
const knownBlocks = new Set(['text', 'tool_use', 'thinking', 'redacted_thinking']);

/**
 * Whether the provider stumbled over a kind of event that it does not know. Anthropic adds kinds, and clients have to go on
 * without them. Source: docs.claude.com, "Versioning" and "Streaming messages".
 */
export function isNews(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== 'AI_TypeValidationError' || !('value' in error))
    return false;
  const { type, delta, content_block } = (error.value ?? {}) as Partial<Record<string, Kind>> & {
    type?: unknown;
  };
  if (typeof type !== 'string') return false;
  if (!knownEvents.has(type)) return true;
  if (type === 'content_block_start') return isNewBlock(content_block);
  const deltaType = delta?.type;
  return type === 'content_block_delta' && typeof deltaType === 'string' && !knownDeltas.has(deltaType);
}

interface Kind {
  readonly type?: unknown;
}

/** A whole answer without content of such kinds. What is no such answer stays as it is. */
export function withoutNews(text: string): string {
  let answer: { readonly content?: unknown };
  try {
    answer = JSON.parse(text);
  } catch {
    return text;
  }
  const content = answer?.content;
  if (!Array.isArray(content) || !content.some(isNewBlock)) return text;
  return JSON.stringify({ ...answer, content: content.filter((block) => !isNewBlock(block)) });
}

function isNewBlock(block: Kind | undefined): boolean {
  return typeof block?.type === 'string' && !knownBlocks.has(block.type);
}

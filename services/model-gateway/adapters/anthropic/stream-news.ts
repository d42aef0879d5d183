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

/**
 * Whether the provider stumbled over a kind of event that it does not know. Anthropic adds kinds, and clients have to go on
 * without them. Source: docs.claude.com, "Versioning" and "Streaming messages".
 */
export function isNews(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== 'AI_TypeValidationError' || !('value' in error))
    return false;
  const { type, delta } = (error.value ?? {}) as { type?: unknown; delta?: { type?: unknown } };
  if (typeof type !== 'string') return false;
  if (!knownEvents.has(type)) return true;
  const deltaType = delta?.type;
  return type === 'content_block_delta' && typeof deltaType === 'string' && !knownDeltas.has(deltaType);
}

import type { FinishReason } from './provider.ts';

export type OpenAiFinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

export function finishReasonOf({ unified }: FinishReason, calledTools: boolean): OpenAiFinishReason {
  switch (unified) {
    case 'tool-calls':
      return 'tool_calls';
    case 'length':
      return 'length';
    case 'content-filter':
      return 'content_filter';
    default:
      return calledTools ? 'tool_calls' : 'stop';
  }
}

/** What Anthropic says of a refusal, where it does. */
export function refusalOf(metadata: unknown): string | null {
  const anthropic = (metadata as { anthropic?: { stopDetails?: { explanation?: unknown } } } | undefined)
    ?.anthropic;
  const explanation = anthropic?.stopDetails?.explanation;
  return typeof explanation === 'string' && explanation !== '' ? explanation : null;
}

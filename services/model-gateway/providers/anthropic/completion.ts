import { finishReasonOf, refusalOf } from './finish-reason.ts';
import type { GenerateResult } from './provider.ts';
import { usageFrom, wireUsage } from './usage.ts';

/**
 * A whole answer as OpenAI's `chat.completion`. @param model the name the client asked for, told where the upstream names none
 * @param created in seconds
 */
export function completionOf(
  result: GenerateResult,
  model: string,
  created: number,
): Record<string, unknown> {
  let text = '';
  let hasText = false;
  const calls: object[] = [];
  for (const part of result.content) {
    if (part.type === 'text') {
      text += part.text;
      hasText = true;
    } else if (part.type === 'tool-call') {
      calls.push({
        id: part.toolCallId,
        type: 'function',
        function: { name: part.toolName, arguments: part.input },
      });
    }
  }
  const usage = usageFrom(result.usage);
  return {
    id: result.response?.id ?? `chatcmpl-${crypto.randomUUID()}`,
    object: 'chat.completion',
    created,
    model: result.response?.modelId ?? model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: hasText ? text : null,
          refusal: refusalOf(result.providerMetadata),
          ...(calls.length > 0 && { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: finishReasonOf(result.finishReason, calls.length > 0),
      },
    ],
    ...(usage !== null && { usage: wireUsage(usage, result.usage) }),
  };
}

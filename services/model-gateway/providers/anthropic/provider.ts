import type { AnthropicMessagesLanguageModel, getModelCapabilities } from '@ai-sdk/anthropic/internal';

/** The provider's own types; its package of types is not a dependency of ours. */

export type LanguageModel = AnthropicMessagesLanguageModel;
export type CallOptions = Parameters<LanguageModel['doGenerate']>[0];
export type GenerateResult = Awaited<ReturnType<LanguageModel['doGenerate']>>;
export type StreamResult = Awaited<ReturnType<LanguageModel['doStream']>>;
export type StreamPart = StreamResult['stream'] extends ReadableStream<infer Part> ? Part : never;
export type Prompt = CallOptions['prompt'];
export type PromptMessage = Prompt[number];
export type UserContent = Extract<PromptMessage, { role: 'user' }>['content'][number];
export type FinishReason = GenerateResult['finishReason'];
export type ProviderUsage = GenerateResult['usage'];
export type Capabilities = ReturnType<typeof getModelCapabilities>;

/** Takes 20 MiB and some time, so only a gateway with such an upstream loads it. */
export function loadProvider(): Promise<typeof import('@ai-sdk/anthropic/internal')> {
  return import('@ai-sdk/anthropic/internal');
}

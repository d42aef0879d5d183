import type { CacheMembers } from './chat-request.ts';
import type { DecodedChat } from './decode-chat.ts';
import type { Prompt } from './provider.ts';

interface CacheOptions {
  readonly providerOptions?: { anthropic: { cacheControl: Record<string, never> } };
}

const ephemeral = { type: 'ephemeral' };

/** The breakpoint of a part, a tool or a message that has one. */
export function cacheOptions(...members: readonly CacheMembers[]): CacheOptions {
  const marked = members.findLast(isMarked);
  if (marked === undefined) return {};
  return optionsOf(marked.cache_control ?? ephemeral);
}

function optionsOf(control: object): CacheOptions {
  return { providerOptions: { anthropic: { cacheControl: control as Record<string, never> } } };
}

function isMarked({ cache_control, prompt_cache_breakpoint }: CacheMembers): boolean {
  return cache_control != null || prompt_cache_breakpoint != null;
}

/**
 * OpenAI caches by itself, Anthropic only up to a breakpoint: a conversation with tools, which goes on, gets one at its end,
 * unless the request sets its own or asks for none but its own.
 */
export function withImplicitBreakpoint(prompt: Prompt, chat: DecodedChat): Prompt {
  if (!chat.tools?.length || chat.prompt_cache_options?.mode === 'explicit') return prompt;
  const parts = chat.messages.flatMap(({ content }): readonly object[] =>
    Array.isArray(content) ? content : [],
  );
  if ([...chat.tools, ...parts].some(isMarked)) return prompt;
  const last = prompt.at(-1);
  return last === undefined ? prompt : [...prompt.slice(0, -1), { ...last, ...optionsOf(ephemeral) }];
}

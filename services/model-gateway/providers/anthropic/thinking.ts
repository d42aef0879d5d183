import type { DecodedChat } from './decode-chat.ts';
import type { CallOptions, Capabilities } from './provider.ts';

type Effort = NonNullable<DecodedChat['reasoning_effort']>;

export interface Thinking {
  /** Whether the model thinks because the request asked for it. */
  readonly on: boolean;
  /** Tokens of the answer's limit that are for thinking; 0 where the model itself decides. */
  readonly budget: number;
  readonly reasoning: CallOptions['reasoning'] | undefined;
}

/** Anthropic takes no smaller budget; as much again is left for the answer. */
const leastBudget = 1024;

/** Shares of the answer's limit, for models that are told a budget. */
const shares: Readonly<Record<Exclude<Effort, 'none'>, number>> = {
  minimal: 0.05,
  low: 0.15,
  medium: 0.3,
  high: 0.6,
  xhigh: 0.8,
  max: 0.9,
};

/**
 * `reasoning_effort` for a model. One that thinks by a budget does so only where the answer's limit has room for it, and
 * not between tool calls: there it wants its own thoughts back, and a client of OpenAI's interface has none of them.
 */
export function thinkingOf(chat: DecodedChat, capabilities: Capabilities, outputTokens: number): Thinking {
  const effort = chat.reasoning_effort;
  if (effort == null) return { on: false, budget: 0, reasoning: undefined };
  if (effort === 'none') return { on: false, budget: 0, reasoning: 'none' };
  if (capabilities.supportsAdaptiveThinking) return { on: true, budget: 0, reasoning: effort };
  const budget = Math.max(leastBudget, Math.floor(outputTokens * shares[effort]));
  const possible = outputTokens - budget >= leastBudget && !inToolLoop(chat.messages);
  return { on: possible, budget: possible ? budget : 0, reasoning: undefined };
}

function inToolLoop(messages: DecodedChat['messages']): boolean {
  return messages.findLast(({ role }) => role === 'tool' || role === 'user')?.role === 'tool';
}

import { UntranslatableRequest } from './failures.ts';
import { cacheOptions, promptOf, withImplicitBreakpoint } from './prompt.ts';
import type { CallOptions, Capabilities } from './provider.ts';
import type { DecodedChat, Tool } from './request.ts';

type ProviderTool = NonNullable<CallOptions['tools']>[number];

interface TargetModel {
  readonly model: string;
  readonly capabilities: Capabilities;
  /** Configured for the model; null leaves it to what the provider knows of it. */
  readonly outputTokens: number | null;
}

/** The provider's call for a request, without headers and signal. @throws UntranslatableRequest */
export function callOptionsOf(chat: DecodedChat, target: TargetModel): CallOptions {
  const { parallel_tool_calls, service_tier } = chat;
  const limit = outputLimit(chat, target);
  const thinking = thinkingOf(chat, target.capabilities, limit);
  checkForcedTool(chat, target, thinking.on);
  const format = chat.response_format ?? { type: 'text' };
  const userId = chat.safety_identifier ?? chat.user;
  return {
    prompt: withImplicitBreakpoint(promptOf(chat.messages), chat),
    // The provider adds the budget to it.
    maxOutputTokens: limit - thinking.budget,
    ...sampling(chat, target, thinking.on),
    ...(chat.stop != null && { stopSequences: typeof chat.stop === 'string' ? [chat.stop] : [...chat.stop] }),
    ...(chat.tools?.length && { tools: chat.tools.map(toolOf) }),
    ...toolChoice(chat),
    ...(thinking.reasoning !== undefined && { reasoning: thinking.reasoning }),
    ...(format.type === 'json_schema' && {
      responseFormat: {
        type: 'json',
        schema: schemaOf(format.json_schema.schema),
        name: format.json_schema.name,
        ...(format.json_schema.description && { description: format.json_schema.description }),
      },
    }),
    // An object of any shape, which the provider asks for as the input of a tool.
    ...(format.type === 'json_object' && { responseFormat: { type: 'json', schema: { type: 'object' } } }),
    providerOptions: {
      anthropic: {
        ...(parallel_tool_calls === false && { disableParallelToolUse: true }),
        ...(thinking.budget > 0 && { thinking: { type: 'enabled', budgetTokens: thinking.budget } }),
        ...(userId != null && { metadata: { userId } }),
        ...(service_tier != null && { serviceTier: service_tier === 'default' ? 'standard_only' : 'auto' }),
      },
    },
  };
}

type Schema = Extract<NonNullable<CallOptions['responseFormat']>, { type: 'json' }>['schema'] & object;

function schemaOf(schema: Record<string, unknown> | null | undefined): Schema {
  return (schema ?? { type: 'object' }) as Schema;
}

function toolOf({ function: described, ...members }: Tool): ProviderTool {
  return {
    type: 'function',
    name: described.name,
    ...(described.description != null && { description: described.description }),
    inputSchema: (described.parameters ?? { type: 'object', properties: {} }) as Schema,
    ...(described.strict === true && { strict: true }),
    ...cacheOptions(members),
  };
}

function toolChoice({ tools, tool_choice: choice }: DecodedChat): Pick<CallOptions, 'toolChoice'> {
  if (choice == null) return {};
  if (typeof choice === 'string') return { toolChoice: { type: choice } };
  const { name } = choice.function;
  const names = (tools ?? []).map((tool) => tool.function.name);
  if (!names.includes(name))
    throw new UntranslatableRequest(
      `'tool_choice.function.name' is ${JSON.stringify(name)}; the tools are ${names.join(', ') || 'none'}`,
      'tool_choice',
      'invalid_value',
    );
  return { toolChoice: { type: 'tool', toolName: name } };
}

/** Anthropic wants a limit; without one the answer may be as long as the model can make it, as with OpenAI. */
function outputLimit(chat: DecodedChat, { model, capabilities, outputTokens }: TargetModel): number {
  const asked = chat.max_completion_tokens ?? chat.max_tokens;
  if (asked == null) {
    const { isKnownModel, maxOutputTokens } = capabilities;
    if (outputTokens === null) return maxOutputTokens;
    return isKnownModel ? Math.min(outputTokens, maxOutputTokens) : outputTokens;
  }
  if (capabilities.isKnownModel && asked > capabilities.maxOutputTokens) {
    const param = chat.max_completion_tokens != null ? 'max_completion_tokens' : 'max_tokens';
    throw new UntranslatableRequest(
      `'${param}' is ${asked}; ${model} gives at most ${capabilities.maxOutputTokens} tokens`,
      param,
      'invalid_value',
    );
  }
  return asked;
}

/** 1 is the default of both, for both sides. */
function sampling(chat: DecodedChat, { model, capabilities }: TargetModel, thinking: boolean): object {
  const values = { temperature: chat.temperature ?? 1, top_p: chat.top_p ?? 1 };
  for (const [name, value] of Object.entries(values)) {
    if (value < 0 || value > 1)
      throw new UntranslatableRequest(
        `'${name}' is ${value}; an Anthropic model takes 0 to 1`,
        name,
        'invalid_value',
      );
    if (value === 1) continue;
    if (capabilities.rejectsSamplingParameters)
      throw new UntranslatableRequest(
        `'${name}' is ${value}; ${model} takes no value but 1, the default`,
        name,
        'unsupported_value',
      );
    if (thinking)
      throw new UntranslatableRequest(`'${name}' is not possible together with reasoning_effort`, name);
  }
  if (values.temperature !== 1 && values.top_p !== 1)
    throw new UntranslatableRequest(
      "'top_p' is not possible together with temperature: an Anthropic model takes one of the two",
      'top_p',
    );
  if (chat.top_k != null && (capabilities.rejectsSamplingParameters || thinking))
    throw new UntranslatableRequest(`'top_k' is not possible with ${model}`, 'top_k');
  return {
    ...(values.temperature !== 1 && { temperature: values.temperature }),
    ...(values.top_p !== 1 && { topP: values.top_p }),
    ...(chat.top_k != null && { topK: chat.top_k }),
  };
}

function checkForcedTool(chat: DecodedChat, { model, capabilities }: TargetModel, thinking: boolean): void {
  const { tool_choice: choice } = chat;
  if (choice == null || choice === 'auto' || choice === 'none') return;
  if (!chat.tools?.length)
    throw new UntranslatableRequest(
      "'tool_choice' is only possible together with tools",
      'tool_choice',
      'invalid_value',
    );
  const why = capabilities.rejectsForcedToolUse
    ? `${model} cannot be made to use a tool`
    : thinking && !capabilities.supportsAdaptiveThinking
      ? `${model} cannot be made to use a tool together with reasoning_effort`
      : null;
  if (why === null) return;
  const asked = typeof choice === 'string' ? choice : choice.function.name;
  throw new UntranslatableRequest(
    `'tool_choice' is ${JSON.stringify(asked)}; ${why}: must be one of auto, none`,
    'tool_choice',
    'unsupported_value',
  );
}

type Effort = NonNullable<DecodedChat['reasoning_effort']>;

interface Thinking {
  /** Whether the model thinks because the request asked for it. */
  readonly on: boolean;
  /** Tokens of the answer's limit that are for thinking; 0 where the model itself decides. */
  readonly budget: number;
  readonly reasoning: CallOptions['reasoning'] | undefined;
}

/** Anthropic takes no smaller budget; as much again is left for the answer. */
const leastBudget = 1024;

/** Shares of the answer's limit, for models that think by a budget. */
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
function thinkingOf(chat: DecodedChat, capabilities: Capabilities, outputTokens: number): Thinking {
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

/** One message of a conversation, in the shape of OpenAI's chat completions. */
export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string | null; readonly tool_calls?: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string };

export interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  /** `arguments` is JSON text, as the model wrote it: it may be malformed. */
  readonly function: { readonly name: string; readonly arguments: string };
}

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface ModelRequest {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDefinition[];
  readonly max_tokens: number;
}

export interface ModelUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_tokens: number;
  /** In US dollars; null when no price is configured. */
  readonly cost: number | null;
}

export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_call'; readonly call: ToolCall }
  | {
      readonly type: 'end';
      readonly finish_reason: string;
      readonly usage: ModelUsage;
      readonly model: string;
      /** Who answered, by the host of its endpoint. */
      readonly provider: string;
    };

/**
 * A language model behind an adapter. The stream ends with `end`, or throws: Unavailable (retryable, `model_unavailable`,
 * `model_rate_limited`), Refused (`model_refused`: credential, quota, request), Failed (`model_stream_broken`).
 */
export interface Model {
  readonly model: string;
  readonly tier: string;
  complete(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
  /** Tokens that input and answer have room in together; null where nobody says. Never throws. */
  contextTokens?(signal: AbortSignal): Promise<number | null>;
  /** Ends what it holds for the planning that it was made for; never throws. */
  close?(): Promise<void>;
}

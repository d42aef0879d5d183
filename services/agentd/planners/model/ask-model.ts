import { setTimeout as delay } from 'node:timers/promises';
import { CoreError } from '#kit/errors.ts';
import type { Model, ModelEvent, ModelRequest, ToolCall } from '../../planning/model.ts';

export interface RetryOptions {
  /** Calls in all, the first included. */
  readonly attempts: number;
  readonly base_ms: number;
  readonly max_backoff_ms: number;
  /** A longer Retry-After is not waited for: the error is passed on. */
  readonly max_wait_ms: number;
}

export const defaultRetry: RetryOptions = {
  attempts: 5,
  base_ms: 500,
  max_backoff_ms: 20_000,
  max_wait_ms: 120_000,
};

export interface ModelAnswer {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly end: Extract<ModelEvent, { type: 'end' }>;
}

/** One whole answer. What was said before a stream broke is forgotten; the question is asked again. */
export async function askModel(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
  retry: RetryOptions,
  progress: (text: string) => void,
): Promise<ModelAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await wholeAnswer(model, request, signal);
    } catch (error) {
      if (signal.aborted || attempt >= retry.attempts || !isTransient(error)) throw error;
      const wait = waitBefore(attempt, error, retry);
      if (wait > retry.max_wait_ms) throw error;
      progress(`${error.message}; asking again in ${Math.ceil(wait / 1000)} s`);
      await delay(wait, undefined, { signal });
    }
  }
}

async function wholeAnswer(model: Model, request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer> {
  let text = '';
  const calls: ToolCall[] = [];
  for await (const event of model.complete(request, signal)) {
    switch (event.type) {
      case 'text':
        text += event.text;
        break;
      case 'tool_call':
        calls.push(event.call);
        break;
      case 'end':
        return { text, calls, end: event };
    }
  }
  throw new TypeError('a model must end its answer with `end` or throw');
}

function isTransient(error: unknown): error is CoreError {
  return error instanceof CoreError && (error.retryable || error.code === 'model_stream_broken');
}

/** Exponential with full jitter, and never earlier than the endpoint asked for. */
function waitBefore(attempt: number, error: CoreError, { base_ms, max_backoff_ms }: RetryOptions): number {
  const backoff = Math.random() * Math.min(max_backoff_ms, base_ms * 2 ** (attempt - 1));
  return Math.max(backoff, (error.retryAfter ?? 0) * 1000);
}

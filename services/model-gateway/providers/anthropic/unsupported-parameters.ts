import { UntranslatableRequest } from './invalid-request.ts';

/** Members that are translated, or that concern the gateway alone. */
const translated = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'top_k',
  'stop',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'reasoning_effort',
  'user',
  'safety_identifier',
  'service_tier',
  'prompt_cache_options',
]);

/** Members that OpenAI calls a best effort, a label or a wish about caching: an answer without them is still an answer to the request. */
const hints = new Set([
  'seed',
  'metadata',
  'store',
  'prompt_cache_key',
  'prompt_cache_retention',
  'prediction',
]);

/** Members that say nothing with these values, and have no counterpart with any other. */
const neutral: Readonly<Record<string, (value: unknown) => boolean>> = {
  n: (value) => value === 1,
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  frequency_penalty: (value) => value === 0,
  presence_penalty: (value) => value === 0,
  logit_bias: (value) => typeof value === 'object' && Object.keys(value as object).length === 0,
  modalities: (value) => Array.isArray(value) && value.every((item) => item === 'text'),
  verbosity: (value) => value === 'medium',
  functions: (value) => Array.isArray(value) && value.length === 0,
};

const advice: Readonly<Record<string, string>> = {
  n: 'ask once for each answer, n must be 1',
  functions: 'give tools in its place',
  function_call: 'give tool_choice in its place',
  verbosity: 'only "medium", the default, is possible',
  modalities: 'only ["text"] is possible',
};

/**
 * Nothing that a request asks for is dropped in silence.
 * @throws UntranslatableRequest that names the first member with no counterpart
 */
export function checkParameters(request: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(request)) {
    if (value === undefined || value === null || translated.has(name) || hints.has(name)) continue;
    if (Object.hasOwn(neutral, name) && neutral[name]!(value)) continue;
    const known = Object.hasOwn(neutral, name) || Object.hasOwn(advice, name) || neverPossible.has(name);
    const why = Object.hasOwn(advice, name) ? `: ${advice[name]}` : '';
    throw known
      ? new UntranslatableRequest(`'${name}' is not possible with an Anthropic model${why}`, name)
      : new UntranslatableRequest(
          `Unrecognized request argument supplied: ${name}`,
          name,
          'unknown_parameter',
        );
  }
}

const neverPossible = new Set(['audio', 'web_search_options', 'moderation']);

import {
  base64,
  data,
  dataUrl,
  each,
  either,
  givenId,
  inlineData,
  kinds,
  list,
  map,
  object,
  plain,
  plainly,
  type Shape,
  schema,
  trueOrFalse,
  values,
  words,
} from '../allowed.ts';

// The price of a longer time to live is not known here.
const cacheTime = { ...plainly('mode'), ttl: values('30m') };
const breakpoint = object(cacheTime);
const cacheControl = object(plainly('type', 'ttl'));
/** Hints about caching, on a part, a message or a tool. */
const caching = {
  cache_control: cacheControl,
  copilot_cache_control: object({ ...plainly('type'), ttl: values('5m') }),
  prompt_cache_breakpoint: breakpoint,
};

const imageUrl = object({ url: dataUrl, ...plainly('detail') });
const textPart = object({ ...plainly('type', 'text'), ...caching });

const parts = kinds({
  text: textPart,
  image_url: object({ ...plainly('type'), image_url: either(dataUrl, imageUrl), ...caching }),
  input_audio: object({
    ...plainly('type'),
    input_audio: object({ data: base64, ...plainly('format') }),
    ...caching,
  }),
  file: object({
    ...plainly('type'),
    file_id: givenId,
    file: object({ file_data: inlineData, file_id: givenId, ...plainly('filename') }),
    ...caching,
  }),
  refusal: object(plainly('type', 'refusal')),
  // Mistral's, in earlier answers.
  thinking: object({ ...plainly('type', 'closed', 'signature'), thinking: either(plain, list(textPart)) }),
});

const functionCall = object(plainly('name', 'arguments'));
const signatures = { extra_content: data };
const calls = kinds(
  {
    function: object({
      ...plainly('id', 'type', 'index'),
      function: object({ ...plainly('name'), arguments: data }),
      ...signatures,
    }),
    custom: object({ ...plainly('id', 'type', 'index'), custom: object(plainly('name', 'input')) }),
  },
  'function',
);

const said = { content: either(plain, list(parts)), ...plainly('role', 'name'), ...caching };
const messages = kinds(
  {
    ...each(['system', 'developer', 'user'], object(said)),
    assistant: object({
      ...said,
      ...plainly('refusal', 'prefix', 'partial', 'reasoning', 'reasoning_content', 'reasoning_text'),
      ...plainly('reasoning_opaque'),
      reasoning_details: data,
      audio: object(plainly('id')),
      function_call: functionCall,
      tool_calls: list(calls),
      ...signatures,
    }),
    tool: object({ ...said, ...plainly('tool_call_id', 'is_error') }),
    function: object(said),
  },
  null,
  'role',
);

const described = { ...plainly('name', 'description', 'strict'), parameters: schema };
const grammar = object({ ...plainly('type'), grammar: object(plainly('definition', 'syntax')) });
const named = object(plainly('name'));
const chosen = {
  function: object({ ...plainly('type'), function: named }),
  custom: object({ ...plainly('type'), custom: named }),
};

/** A request of chat completions with the key of a run: what OpenAI's client knows, and what other servers take for the same. */
export const allowedChat: Shape = object({
  ...plainly('model', 'stream', 'max_tokens', 'max_completion_tokens', 'n', 'best_of', 'stop', 'seed'),
  ...plainly('temperature', 'top_p', 'top_k', 'min_p', 'typical_p', 'top_a', 'frequency_penalty'),
  ...plainly('presence_penalty', 'repetition_penalty', 'logprobs', 'top_logprobs', 'parallel_tool_calls'),
  ...plainly('prompt_cache_key', 'prompt_cache_retention', 'safety_identifier', 'store', 'user'),
  ...plainly('verbosity', 'reasoning_effort', 'include_reasoning', 'enable_thinking', 'thinking_budget'),
  ...plainly('random_seed', 'safe_prompt', 'prompt_mode', 'reasoning_split'),
  messages: list(messages),
  stream_options: object(plainly('include_usage', 'include_obfuscation')),
  // Like `user` and `safety_identifier`, a name for the provider that gets the messages anyway. Proxies choose upstreams and payers
  // by other members.
  metadata: object(plainly('user_id')),
  logit_bias: map(/^\d{1,9}$/, 'ids of tokens'),
  modalities: list(values('text')),
  service_tier: words('auto', 'default', 'flex', 'standard_only'),
  prompt_cache_options: object(cacheTime),
  cache_control: cacheControl,
  prediction: object({ ...plainly('type'), content: either(plain, list(textPart)) }),
  reasoning: object(plainly('effort', 'max_tokens', 'exclude', 'enabled', 'summary')),
  thinking: object(plainly('type', 'budget_tokens', 'clear_thinking')),
  chat_template_kwargs: object(
    each(['enable_thinking', 'thinking', 'clear_thinking', 'preserve_thinking'], trueOrFalse),
  ),
  usage: object(plainly('include')),
  response_format: kinds({
    text: object(plainly('type')),
    json_object: object({ ...plainly('type'), schema }),
    json_schema: object({
      ...plainly('type'),
      json_schema: object({ ...plainly('name', 'description', 'strict'), schema }),
    }),
  }),
  tools: list(
    kinds(
      {
        function: object({ ...plainly('type'), function: object(described), ...caching }),
        custom: object({
          ...plainly('type'),
          custom: object({
            ...plainly('name', 'description'),
            format: kinds({ text: object(plainly('type')), grammar }),
          }),
          ...caching,
        }),
      },
      'function',
    ),
  ),
  tool_choice: either(
    values('none', 'auto', 'required', 'any'),
    kinds({
      ...chosen,
      allowed_tools: object({
        ...plainly('type'),
        allowed_tools: object({ ...plainly('mode'), tools: list(kinds(chosen, 'function')) }),
      }),
    }),
  ),
  functions: list(object(described)),
  function_call: either(values('none', 'auto'), named),
});

export const allowedEmbeddings: Shape = object({
  ...plainly('model', 'input', 'dimensions', 'encoding_format', 'user', 'input_type', 'truncate'),
});

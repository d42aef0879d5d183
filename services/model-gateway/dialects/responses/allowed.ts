import {
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
  values,
  words,
} from '../allowed.ts';

// The price of a longer time to live is not known here.
const cacheTime = { ...plainly('mode'), ttl: values('30m') };
const caching = { prompt_cache_breakpoint: object(cacheTime) };
/** A call that the model made itself, and no program on the provider's server. */
const caller = kinds({ direct: object(plainly('type')) });
const facts = plainly('type', 'id', 'call_id', 'status');

const image = object({ ...plainly('type', 'detail'), file_id: givenId, image_url: dataUrl, ...caching });
const parts = kinds({
  input_text: object({ ...plainly('type', 'text'), ...caching }),
  input_image: image,
  input_file: object({
    ...plainly('type', 'detail', 'filename'),
    file_id: givenId,
    file_data: inlineData,
    ...caching,
  }),
  output_text: object({ ...plainly('type', 'text'), annotations: data, logprobs: data }),
  ...each(['text', 'summary_text', 'reasoning_text'], object(plainly('type', 'text'))),
  refusal: object(plainly('type', 'refusal')),
});
const output = either(plain, list(parts));

const toolFacts = {
  ...plainly('type', 'name', 'description', 'defer_loading', 'async'),
  allowed_callers: list(values('direct')),
};
const grammar = kinds({
  text: object(plainly('type')),
  grammar: object(plainly('type', 'definition', 'syntax')),
});
const functions = {
  function: object({ ...toolFacts, ...plainly('strict'), parameters: schema, output_schema: schema }),
  custom: object({ ...toolFacts, format: grammar }),
};
/** Tools that the client runs, and the search among them. */
const tools = list(
  kinds({
    ...functions,
    namespace: object({ ...plainly('type', 'name', 'description'), tools: list(kinds(functions)) }),
    tool_search: object({ ...plainly('type', 'description', 'execution'), parameters: schema }),
    local_shell: object(plainly('type')),
    apply_patch: object({ ...plainly('type'), allowed_callers: list(values('direct')) }),
    computer: object(plainly('type')),
    computer_use_preview: object(plainly('type', 'display_height', 'display_width', 'environment')),
  }),
);

const format = kinds({
  ...each(['text', 'json_object'], object(plainly('type'))),
  json_schema: object({ ...plainly('type', 'name', 'description', 'strict'), schema }),
});
const text = object({ ...plainly('verbosity'), format });
// The mode `pro` may have another price.
const reasoning = object({
  ...plainly('context', 'effort', 'generate_summary', 'summary'),
  mode: values('standard'),
});
const called = { ...facts, caller, ...plainly('name', 'namespace', 'async') };

const items = kinds(
  {
    message: object({ ...plainly('type', 'id', 'role', 'status', 'phase'), content: output }),
    reasoning: object({
      ...plainly('type', 'id', 'status', 'encrypted_content'),
      summary: list(parts),
      content: list(parts),
    }),
    function_call: object({ ...called, ...plainly('arguments') }),
    function_call_output: object({ ...called, output }),
    custom_tool_call: object({ ...called, ...plainly('input') }),
    custom_tool_call_output: object({ ...called, output }),
    local_shell_call: object({ ...facts, action: data }),
    local_shell_call_output: object({ ...facts, output }),
    apply_patch_call: object({ ...facts, caller, operation: data }),
    apply_patch_call_output: object({ ...facts, caller, output }),
    computer_call: object({ ...facts, action: data, actions: data, pending_safety_checks: data }),
    computer_call_output: object({
      ...facts,
      output: object({ ...plainly('type'), file_id: givenId, image_url: dataUrl }),
      acknowledged_safety_checks: data,
    }),
    tool_search_call: object({ ...facts, ...plainly('execution'), arguments: data }),
    tool_search_output: object({ ...facts, ...plainly('execution'), tools }),
    additional_tools: object({ ...plainly('type', 'id', 'role'), tools }),
    configuration_update: object({ ...plainly('type', 'id'), reasoning, text }),
    ...each(['compaction', 'compaction_summary'], object(plainly('type', 'id', 'encrypted_content'))),
    ...each(['compaction_trigger', 'item_reference'], object(plainly('type', 'id'))),
  },
  'message',
);

const choices = object(plainly('type', 'name', 'namespace'));
const chosen = {
  ...each(['function', 'custom', 'apply_patch', 'local_shell'], choices),
  ...each(['computer', 'computer_use', 'computer_use_preview'], choices),
};

/** A request of Responses with the key of a run. */
export const allowedResponses: Shape = object({
  ...plainly('model', 'stream', 'instructions', 'max_output_tokens', 'max_tool_calls', 'temperature'),
  ...plainly('top_p', 'top_logprobs', 'parallel_tool_calls', 'prompt_cache_key'),
  ...plainly('prompt_cache_retention', 'safety_identifier', 'store', 'truncation', 'user', 'background'),
  previous_response_id: givenId,
  input: either(plain, list(items)),
  tools,
  tool_choice: either(
    values('none', 'auto', 'required'),
    kinds({
      ...chosen,
      allowed_tools: object({ ...plainly('type', 'mode'), tools: list(kinds(chosen, 'function')) }),
    }),
  ),
  conversation: either(givenId, object({ id: givenId })),
  context_management: list(object(plainly('type', 'compact_threshold'))),
  // Codex names its session here. No server is known to act on it, and a proxy is not to be given more.
  client_metadata: map(
    /^(?:x-codex-[\w-]+|(?:[a-z]+_)?(?:session|thread|turn|conversation)_id)$/,
    'x-codex-…, session_id, thread_id, turn_id, conversation_id',
  ),
  // Proxies of models choose upstreams and payers by others.
  metadata: object(plainly('user_id')),
  include: list(
    values(
      'reasoning.encrypted_content',
      'message.output_text.logprobs',
      'message.input_image.image_url',
      'computer_call_output.output.image_url',
    ),
  ),
  prompt_cache_options: object({ ...cacheTime, ...plainly('prewarm', 'comparison_response_id') }),
  reasoning,
  text,
  stream_options: object(plainly('include_obfuscation')),
  service_tier: words('auto', 'default', 'flex', 'standard_only'),
});

import {
  base64,
  data,
  each,
  either,
  givenId,
  kinds,
  list,
  object,
  plain,
  plainly,
  type Shape,
  schema,
  values,
  words,
} from '../allowed.ts';

const caching = { cache_control: object(plainly('type', 'ttl', 'scope')) };
/** A tool that the provider's server calls from its own programs. */
const direct = kinds({ direct: object(plainly('type')) });

const text = object({ ...plainly('type', 'text'), citations: data, ...caching });
const image = object({
  ...plainly('type'),
  source: kinds({
    base64: object({ ...plainly('type', 'media_type'), data: base64 }),
    file: object({ ...plainly('type'), file_id: givenId }),
  }),
  transformations: object(plainly('oversized_image')),
  ...caching,
});
const document = object({
  ...plainly('type', 'title', 'context'),
  citations: object(plainly('enabled')),
  source: kinds({
    base64: object({ ...plainly('type', 'media_type'), data: base64 }),
    text: object(plainly('type', 'media_type', 'data')),
    file: object({ ...plainly('type'), file_id: givenId }),
    content: object({ ...plainly('type'), content: either(plain, list(kinds({ text, image }))) }),
  }),
  ...caching,
});
const searchResult = object({
  ...plainly('type', 'source', 'title'),
  content: list(kinds({ text })),
  citations: object(plainly('enabled')),
  ...caching,
});
const toolReference = object({ ...plainly('type', 'tool_name'), ...caching });
const toolResult = object({
  ...plainly('type', 'tool_use_id', 'is_error', 'toolset_name'),
  content: either(
    plain,
    list(kinds({ text, image, document, search_result: searchResult, tool_reference: toolReference })),
  ),
  ...caching,
});

const blocks = kinds({
  text,
  image,
  document,
  search_result: searchResult,
  thinking: object(plainly('type', 'thinking', 'signature')),
  redacted_thinking: object(plainly('type', 'data')),
  tool_use: object({
    ...plainly('type', 'id', 'name', 'toolset_name'),
    input: data,
    caller: direct,
    ...caching,
  }),
  tool_result: toolResult,
  // What the search among the tools of the request found.
  server_tool_use: object({
    ...plainly('type', 'id'),
    name: values('tool_search_tool_regex', 'tool_search_tool_bm25'),
    input: data,
    caller: direct,
    ...caching,
  }),
  tool_search_tool_result: object({
    ...plainly('type', 'tool_use_id'),
    content: kinds({
      tool_search_tool_search_result: object({
        ...plainly('type'),
        tool_references: list(kinds({ tool_reference: toolReference })),
      }),
      tool_search_tool_result_error: object(plainly('type', 'error_code', 'error_message')),
    }),
    ...caching,
  }),
  compaction: object({ ...plainly('type', 'content', 'encrypted_content', 'signature'), ...caching }),
});

const toolFacts = {
  ...plainly('type', 'name', 'defer_loading', 'strict'),
  allowed_callers: list(values('direct')),
  input_examples: data,
  ...caching,
};
const computer = {
  ...toolFacts,
  ...plainly('display_height_px', 'display_width_px', 'display_number', 'enable_zoom'),
};
/** Tools that the client runs, and the search among them. */
const tools = kinds(
  {
    custom: object({
      ...toolFacts,
      ...plainly('description', 'eager_input_streaming'),
      input_schema: schema,
    }),
    ...each(['bash_*', 'memory_*', 'tool_search_tool_bm25_*', 'tool_search_tool_regex_*'], object(toolFacts)),
    ...each(['tool_search_tool_bm25', 'tool_search_tool_regex'], object(toolFacts)),
    'text_editor_*': object({ ...toolFacts, ...plainly('max_characters') }),
    'computer_*': object(computer),
  },
  'custom',
);

const choice = plainly('type', 'disable_parallel_tool_use');
const amount = object(plainly('type', 'value'));
const jsonFormat = kinds({ json_schema: object({ ...plainly('type'), schema }) });

/** A request of Messages with the key of a run. */
export const allowedMessages: Shape = object({
  ...plainly('model', 'max_tokens', 'stream', 'stop_sequences', 'temperature', 'top_p', 'top_k'),
  messages: list(object({ ...plainly('role'), content: either(plain, list(blocks)) })),
  system: either(plain, list(kinds({ text }))),
  tools: list(tools),
  tool_choice: kinds({
    ...each(['auto', 'any', 'none'], object(choice)),
    tool: object({ ...choice, ...plainly('name') }),
  }),
  thinking: object(plainly('type', 'budget_tokens', 'display', 'block_binding')),
  metadata: object(plainly('user_id')),
  output_config: object({
    ...plainly('effort'),
    format: jsonFormat,
    task_budget: object(plainly('type', 'total', 'remaining')),
  }),
  output_format: jsonFormat,
  context_management: object({
    edits: list(
      kinds({
        clear_tool_uses_20250919: object({
          ...plainly('type', 'clear_tool_inputs', 'exclude_tools'),
          clear_at_least: amount,
          keep: amount,
          trigger: amount,
        }),
        clear_thinking_20251015: object({ ...plainly('type'), keep: either(plain, amount) }),
        compact_20260112: object({
          ...plainly('type', 'instructions', 'pause_after_compaction'),
          trigger: amount,
        }),
      }),
    ),
  }),
  compaction: object(plainly('type', 'instructions')),
  diagnostics: object(plainly('previous_message_id')),
  service_tier: words('auto', 'default', 'flex', 'standard_only'),
  speed: words('standard'),
  inference_geo: words('global'),
  mcp_servers: list(kinds({})),
  ...caching,
});

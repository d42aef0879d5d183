const codes = /context_length|exceed_context|context_window/i;

/** As OpenAI, Anthropic, Google, Mistral, xAI, Groq, vLLM, llama.cpp, Ollama, Together and Bedrock word it. */
const words = new RegExp(
  [
    'context[ _](?:length|size|window|limit)',
    'maximum prompt length',
    '(?:prompt|input) is too long',
    'input token count',
    'reduce the length of (?:the )?(?:messages|prompt|your prompt)',
    'tokens \\+ `?max_new_tokens`? must be',
    'prompt contains \\d+ tokens',
  ].join('|'),
  'i',
);

/** Whether an error of an upstream says that a request does not fit into the model's context window. */
export function isContextOverflow({
  code,
  message,
}: {
  readonly code: unknown;
  readonly message: string;
}): boolean {
  return (typeof code === 'string' && codes.test(code)) || words.test(message);
}

/** What clients call, and whose interface it is of. */
export const dialectOf = {
  'chat/completions': 'chat',
  embeddings: 'chat',
  messages: 'messages',
  'messages/count_tokens': 'messages',
  responses: 'responses',
  generateContent: 'google',
  streamGenerateContent: 'google',
  countTokens: 'google',
} as const;

export type Endpoint = keyof typeof dialectOf;

/** OpenAI's chat completions and embeddings, Anthropic's Messages, OpenAI's Responses, and Google's generateContent. */
export type DialectName = (typeof dialectOf)[Endpoint];

export const endpoints = Object.keys(dialectOf) as readonly Endpoint[];

/** OpenAI's own servers, and Azure's. */
export function isOpenAiHost(baseUrl: string): boolean {
  return /(^|\.)openai\.(azure\.)?com$/.test(new URL(baseUrl).hostname);
}

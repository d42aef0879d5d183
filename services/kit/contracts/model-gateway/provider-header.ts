/** In an answer of core-model-gateway: the host of the upstream that gave it, for example `api.openai.com`. */
export const providerHeader = 'x-upstream';

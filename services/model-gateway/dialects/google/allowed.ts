import {
  base64,
  data,
  either,
  list,
  object,
  plain,
  plainly,
  type Shape,
  schema,
  values,
  words,
} from '../allowed.ts';

/** Google's servers know each member by two names. Source: protobuf.dev, "ProtoJSON Format". */
export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

const oneOrMany = (shape: Shape) => either(list(shape), shape);

const blob = object({ ...plainly('mimeType', 'displayName'), data: base64 });
/** A file that was given to Google before. */
const file = object({
  ...plainly('mimeType', 'displayName'),
  fileUri: {
    is: 'text',
    keeps: (text) => /^https:\/\/generativelanguage\.googleapis\.com\/v1(?:beta)?\/files\/[\w-]+$/.test(text),
    must: 'a file of the Gemini API',
  },
});
const media = {
  inlineData: blob,
  fileData: file,
  mediaResolution: either(plain, object(plainly('level', 'numTokens'))),
};

const part = object({
  ...plainly('text', 'thought', 'thoughtSignature'),
  ...media,
  videoMetadata: object(plainly('startOffset', 'endOffset', 'fps')),
  functionCall: object({ ...plainly('id', 'name', 'willContinue'), args: data, partialArgs: data }),
  functionResponse: object({
    ...plainly('id', 'name', 'willContinue', 'scheduling'),
    response: data,
    parts: list(object({ inlineData: blob, fileData: file })),
  }),
});
const content = object({ ...plainly('role'), parts: oneOrMany(part) });

const generation = {
  ...plainly('temperature', 'topP', 'topK', 'candidateCount', 'maxOutputTokens', 'stopSequences', 'seed'),
  ...plainly('responseLogprobs', 'logprobs', 'presencePenalty', 'frequencyPenalty', 'responseMimeType'),
  ...plainly('mediaResolution', 'audioTimestamp'),
  responseModalities: list(words('text', 'modality_unspecified')),
  responseSchema: schema,
  responseJsonSchema: schema,
  thinkingConfig: object(plainly('includeThoughts', 'thinkingBudget', 'thinkingLevel')),
};

const described = {
  ...plainly('name', 'description', 'behavior'),
  parameters: schema,
  parametersJsonSchema: schema,
  response: schema,
  responseJsonSchema: schema,
};

const request = {
  ...plainly('model', 'cachedContent', 'store'),
  contents: oneOrMany(content),
  systemInstruction: either(content, plain),
  generationConfig: object(generation),
  safetySettings: list(object(plainly('category', 'threshold', 'method'))),
  tools: oneOrMany(object({ functionDeclarations: list(object(described)) })),
  toolConfig: object({
    functionCallingConfig: object({
      ...plainly('mode', 'allowedFunctionNames', 'streamFunctionCallArguments'),
    }),
    includeServerSideToolInvocations: values(false),
  }),
  serviceTier: words('standard', 'flex', 'unspecified'),
};

/** A request of generateContent with the key of a run. */
export const allowedGenerate: Shape = object(request);
export const allowedCount: Shape = object({ ...request, generateContentRequest: object(request) });

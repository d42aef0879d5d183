import { isObject } from '#kit/is-object.ts';
import { noUsage, readUsage } from '#kit/model-answers/usage.ts';
import { isAnswerHeader } from '../../providers/headers.ts';
import { rewriteRequest } from '../../providers/pass-through/request.ts';
import type { EventWire, Json, Wire } from '../../providers/pass-through/wire.ts';
import type { Dialect, EndpointFacts, Media, OutputAsked, Rules } from '../dialect.ts';
import { modelRule, numberIn, objectsIn } from '../rules.ts';
import { allowedCount, allowedGenerate, camelCase } from './allowed.ts';

/** Google's servers know each member by two names. Source: protobuf.dev, "ProtoJSON Format". */
const spellings = {
  generationConfig: ['generationConfig', 'generation_config'],
  maxOutputTokens: ['maxOutputTokens', 'max_output_tokens'],
  candidateCount: ['candidateCount', 'candidate_count'],
} as const;

function memberOf(value: Json, name: keyof typeof spellings): unknown {
  return spellings[name].map((spelling) => value[spelling]).find((found) => found != null);
}

function configOf(request: Json): Json {
  const config = memberOf(request, 'generationConfig');
  return isObject(config) ? config : {};
}

const isCount = (value: unknown) => value == null || (Number.isSafeInteger(value) && (value as number) >= 1);

const rules: Rules = {
  model: modelRule,
  contents: ['a list with at least one content', (value) => [value].flat().some(isObject)],
};
const configRule: Rules[string] = [
  'an object in which maxOutputTokens and candidateCount are whole numbers of at least 1, each there once, as the object itself',
  (value, request) => {
    if (value == null) return true;
    if (!isObject(value) || spellings.generationConfig.every((name) => request[name] != null)) return false;
    return (['maxOutputTokens', 'candidateCount'] as const).every((name) => {
      const given = Object.keys(value).filter((key) => plain(key) === plain(name) && value[key] != null);
      const isKnown = given.every((key) => (spellings[name] as readonly string[]).includes(key));
      return given.length <= 1 && isKnown && given.every((key) => isCount(value[key]));
    });
  },
];
/** What a lax server may take for the same name. */
const plain = (name: string) => name.toUpperCase().toLowerCase().replaceAll('_', '');
const read = ['model', 'contents', ...spellings.generationConfig];

const events: EventWire = {
  answers: (request) => google.answersAsked(request),
  end: 'a finishReason',
  meaning: ({ error }) => (error != null ? 'failure' : 'more'),
  parts({ candidates, promptFeedback }) {
    const isBlocked = isObject(promptFeedback) && promptFeedback.blockReason != null;
    if (isBlocked) return [{ place: '0', finished: true }];
    return objectsIn(candidates).map(({ index = 0, finishReason: finish }) => ({
      place: `${index}`,
      finished: typeof finish === 'string' && finish !== '' && finish !== 'FINISH_REASON_UNSPECIFIED',
    }));
  },
  deltas: ({ candidates }) =>
    objectsIn(candidates)
      .filter(({ content }) => isObject(content))
      .map(({ index = 0, content }) => ({ place: `${index}`, holder: content, member: 'parts' })),
  usage: ({ usageMetadata }, before) => readUsage(usageMetadata, before),
  status({ error }) {
    const code = isObject(error) ? Number(error.code) : 0;
    return code >= 400 && code <= 599 ? code : null;
  },
};

const wire: Wire = {
  dialect: 'google',
  // Of the client's query nothing goes on: by it Google's servers take another credential, other headers and another method, and leave
  // out the usage. Source: cloud.google.com/apis/docs/system-parameters.
  path({ endpoint }, model) {
    const query = endpoint === 'streamGenerateContent' ? '?alt=sse' : '';
    return `/models/${encodeURIComponent(model)}:${endpoint}${query}`;
  },
  headers: () => ({}),
  credential: (text) => ({ 'x-goog-api-key': text }),
  body({ bytes, request, outputLimit = null }) {
    if (outputLimit === null || memberOf(configOf(request), 'maxOutputTokens') != null) return bytes;
    return rewriteRequest(bytes, (exact) => {
      const name = spellings.generationConfig.find((spelling) => exact[spelling] != null);
      return { [name ?? 'generationConfig']: { ...configOf(exact), maxOutputTokens: outputLimit } };
    });
  },
  isAnswerHeader,
  usage: ({ usageMetadata }, { endpoint }) =>
    endpoint === 'countTokens' ? noUsage : readUsage(usageMetadata),
  events,
};

const generates: Pick<EndpointFacts, 'for' | 'uses' | 'allowed' | 'read' | 'rules'> = {
  for: 'chat',
  uses: true,
  allowed: allowedGenerate,
  read,
  rules: { ...rules, generationConfig: configRule, generation_config: configRule },
};

/** Google's generateContent, as Gemini CLI speaks it. */
export const google: Dialect = {
  wire,
  endpoints: {
    generateContent: {
      ...generates,
      path: '/v1beta/models/{model}:generateContent',
      summary: 'Google’s generateContent',
      stream: 'never',
    },
    streamGenerateContent: {
      ...generates,
      path: '/v1beta/models/{model}:streamGenerateContent',
      summary: 'The same as a stream of events, with alt=sse',
      stream: 'always',
    },
    countTokens: {
      path: '/v1beta/models/{model}:countTokens',
      summary: 'How many tokens a request of Google’s generateContent has',
      stream: 'never',
      for: 'chat',
      uses: false,
      allowed: allowedCount,
      read,
      rules: { model: modelRule },
    },
  },
  tokenIn: { headers: ['x-goog-api-key'], query: 'key' },
  outputAsked(request): OutputAsked | null {
    const tokens = numberIn(memberOf(configOf(request), 'maxOutputTokens'));
    return tokens === 0 ? null : { param: 'generationConfig.maxOutputTokens', tokens };
  },
  answersAsked: (request) => Math.max(1, numberIn(memberOf(configOf(request), 'candidateCount'))),
  media,
  memberName: camelCase,
  turns: ({ contents }) => (Array.isArray(contents) ? contents : []),
  errorBody: ({ message, code }, status) => ({
    error: {
      code: status,
      message,
      status: nameOf(status),
      ...(code !== null && { details: [{ ...errorInfo, reason: code.toUpperCase() }] }),
    },
  }),
  errorEvent: (error, status) => `data: ${JSON.stringify(google.errorBody(error, status))}\n\n`,
  translation: null,
};

/** Source: google/rpc/error_details.proto. */
const errorInfo = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', domain: 'core-model-gateway' };

/** Source: google/rpc/code.proto. */
const names = new Map([
  [400, 'INVALID_ARGUMENT'],
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [409, 'ABORTED'],
  [429, 'RESOURCE_EXHAUSTED'],
  [499, 'CANCELLED'],
  [500, 'INTERNAL'],
  [501, 'UNIMPLEMENTED'],
  [503, 'UNAVAILABLE'],
  [504, 'DEADLINE_EXCEEDED'],
]);

function nameOf(status: number): string {
  return names.get(status) ?? (status >= 500 ? 'UNAVAILABLE' : 'FAILED_PRECONDITION');
}

function partsIn(contents: unknown) {
  return objectsIn([contents].flat()).flatMap(({ parts }) => objectsIn([parts].flat()));
}

/** Files other than pictures that stand in the request count as text. A stored cache is read as input. */
function media(request: Json): Media {
  const images: number[] = [];
  let elsewhere = request.cachedContent != null || request.cached_content != null ? 1 : 0;
  for (const part of partsIn(request.contents)) {
    const inline = part.inlineData ?? part.inline_data;
    const type = inline?.mimeType ?? inline?.mime_type;
    if (/^image\//.test(String(type)) && typeof inline.data === 'string') images.push(inline.data.length);
    if ((part.fileData ?? part.file_data) != null) elsewhere++;
  }
  return { images, elsewhere };
}

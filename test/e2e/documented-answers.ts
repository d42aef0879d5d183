import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Responses }>>>>;
}

type Responses = Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;

export interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
}

/** Says what is wrong with an answer by the document of its service; null where it is as described. */
export function answerCheck(
  document: OpenApi,
): (method: string, path: string, answer: Answer) => string | null {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
  ajv.addSchema(document, 'document');
  return (method, path, { status, type, text }) => {
    const operation = document.paths[path]?.[method.toLowerCase()];
    if (operation === undefined) return 'is not in the document';
    const key = operation.responses[status] !== undefined ? String(status) : status >= 400 ? 'default' : null;
    if (key === null) return `${status} is not documented`;
    const content = operation.responses[key]!.content ?? {};
    const media = type?.replace(/;.*$/, '') ?? '';
    if (Object.keys(content).length === 0)
      return text === '' ? null : `${status} has a body, but none is documented`;
    if (!Object.hasOwn(content, media)) return `${status} is ${media}, documented is ${Object.keys(content)}`;
    if (!media.endsWith('json')) return null;
    const steps = ['paths', path, method.toLowerCase(), 'responses', key, 'content', media, 'schema'];
    const pointer = steps
      .map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1'))
      .map(encodeURIComponent);
    const validate = ajv.compile({ $ref: `document#/${pointer.join('/')}` });
    return validate(JSON.parse(text)) ? null : `${status} ${ajv.errorsText(validate.errors)}`;
  };
}

import { isObject } from '#kit/is-object.ts';
import { cutText } from '#kit/redaction/cut-text.ts';

/**
 * What a request with the key of a run may hold. Such a key belongs to a program in a sandbox: what the upstream would do, read or
 * charge because of an unknown member would happen outside of it.
 */
export type Shape =
  /** A text, a number, true or false, or a list of them. */
  | { readonly is: 'plain' }
  /** Data for the model that the upstream does not act on: arguments of tools, answers of tools, examples. */
  | { readonly is: 'data' }
  /** A JSON schema; its references stay inside it. */
  | { readonly is: 'schema' }
  | { readonly is: 'values'; readonly values: readonly (string | boolean)[]; readonly anyCase: boolean }
  | { readonly is: 'text'; readonly keeps: (text: string) => boolean; readonly must: string }
  | { readonly is: 'list'; readonly of: Shape }
  | { readonly is: 'object'; readonly members: Readonly<Record<string, Shape>> }
  /** Names that are not known one by one, each with a text, a number, true or false. */
  | { readonly is: 'map'; readonly keeps: (name: string) => boolean; readonly names: string }
  /** Objects of several kinds, told apart by one member. */
  | {
      readonly is: 'kinds';
      readonly by: string;
      readonly kinds: Readonly<Record<string, Shape>>;
      /** The kind of an object that names none. */
      readonly usual: string | null;
    }
  /** A text, or a list or an object, whichever of them is given. */
  | { readonly is: 'either'; readonly shapes: readonly Shape[] };

export const plain: Shape = { is: 'plain' };
export const data: Shape = { is: 'data' };
export const schema: Shape = { is: 'schema' };

export function values(...values: readonly (string | boolean)[]): Shape {
  return { is: 'values', values, anyCase: false };
}

/** Texts whose case does not matter to the upstream. */
export function words(...values: readonly string[]): Shape {
  return { is: 'values', values, anyCase: true };
}

export function list(of: Shape): Shape {
  return { is: 'list', of };
}

export function object(members: Readonly<Record<string, Shape>>): Shape {
  return { is: 'object', members };
}

/** @param names what a name is, for people */
export function map(pattern: RegExp, names: string): Shape {
  return { is: 'map', keeps: (name) => pattern.test(name), names };
}

/** @param names members that are plain */
export function plainly<N extends string>(...names: readonly N[]): Record<N, Shape> {
  return Object.fromEntries(names.map((name) => [name, plain])) as Record<N, Shape>;
}

export function kinds(
  kinds: Readonly<Record<string, Shape>>,
  usual: string | null = null,
  by = 'type',
): Shape {
  return { is: 'kinds', by, kinds, usual };
}

export function either(...shapes: readonly Shape[]): Shape {
  return { is: 'either', shapes };
}

/** The same shape for several kinds. */
export function each<K extends string>(names: readonly K[], shape: Shape): Record<K, Shape> {
  return Object.fromEntries(names.map((name) => [name, shape])) as Record<K, Shape>;
}

export const trueOrFalse: Shape = values(true, false);

/** Pictures that refer to nothing outside, unlike SVG. */
const pictures = /^data:image\/(?:png|jpe?g|gif|webp|bmp|tiff|avif|hei[cf]);base64,/i;
const files =
  /^data:(?:application\/(?:pdf|json)|text\/(?!html|xml)[\w.+-]+|image\/(?:png|jpe?g|gif|webp))(?:;charset=[\w-]+)?;base64,/i;

/** The picture of a data URL, in base64. */
export const dataUrl: Shape = {
  is: 'text',
  keeps: (text) => isDataUrl(text, pictures),
  must: 'a data URL of a picture in base64 (PNG, JPEG, GIF, WebP, BMP, TIFF, AVIF or HEIC)',
};
export const base64: Shape = { is: 'text', keeps: isRawBase64, must: 'padded base64 of its content' };
export const inlineData: Shape = {
  is: 'text',
  keeps: (text) => isDataUrl(text, files) || isRawBase64(text),
  must: 'padded base64 of its content, or a data URL in base64 of a PDF, text, JSON or a picture',
};
/** The provider’s id of something that was given to it before. */
export const givenId: Shape = {
  is: 'text',
  keeps: (text) => /^[\w-]{1,200}$/.test(text),
  must: 'an id of the provider (letters, digits, _ and -)',
};

function isDataUrl(text: string, beginning: RegExp): boolean {
  const [found] = beginning.exec(text) ?? [];
  return found !== undefined && isBase64(text.slice(found.length));
}

function isBase64(text: string): boolean {
  const digits = text.replace(/\s/g, '');
  return digits.length % 4 === 0 && /^[A-Za-z0-9+/_-]*={0,2}$/.test(digits);
}

/** Fewer bytes are no sound. */
const minSoundBytes = 1_024;

/** Base64 that nobody could take for a path: of what begins with a slash, JPEG and the frames of MP3 and AAC are known. */
function isRawBase64(text: string): boolean {
  if (!isBase64(text)) return false;
  if (!text.startsWith('/') || text.startsWith('/9j/')) return true;
  return /^\/\/[E-Pk-v]/.test(text) && (text.length * 3) / 4 >= minSoundBytes;
}

/** What is not allowed, and why. */
export interface NotAllowed {
  /** Where it is, for example `messages[0].content[1].image_url.url`. */
  readonly path: string;
  /** Completes the sentence "… is not possible with the key of a run: ". */
  readonly why: string;
}

type Spelling = (name: string) => string;

/**
 * The first part of a request that a shape does not have; null if it has all of it. What is null asks for nothing.
 * @param spelling the name by which the shape knows a member
 */
export function firstNotAllowed(
  value: unknown,
  shape: Shape,
  spelling: Spelling = (name) => name,
  path = '',
): NotAllowed | null {
  if (value == null) return null;
  const within = (inner: unknown, of: Shape, at: string) => firstNotAllowed(inner, of, spelling, at);
  switch (shape.is) {
    case 'plain':
      return isPlain(value) ? null : { path, why: 'it must be a text, a number, true or false' };
    case 'data':
      return null;
    case 'schema':
      return outwardReference(value, path);
    case 'values':
      return valueProblem(value, shape, path);
    case 'text':
      if (typeof value === 'string' && shape.keeps(value)) return null;
      return {
        path,
        why: `it must be ${shape.must}, as the upstream itself would read an address, outside of every sandbox`,
      };
    case 'list': {
      if (!Array.isArray(value)) return { path, why: 'it must be a list' };
      return firstOf(value.entries(), ([index, inner]) => within(inner, shape.of, `${path}[${index}]`));
    }
    case 'object': {
      if (!isObject(value)) return { path, why: 'it must be an object' };
      return membersProblem(value, shape.members);
    }
    case 'map': {
      if (!isObject(value)) return { path, why: 'it must be an object' };
      return firstOf(Object.entries(value), ([name, inner]) => {
        if (inner == null) return null;
        if (shape.keeps(name)) return within(inner, plain, `${path}.${name}`);
        return { path: `${path}.${name}`, why: `it must be left out; allowed are ${shape.names}` };
      });
    }
    case 'kinds': {
      if (!isObject(value)) return { path, why: 'it must be an object' };
      return kindProblem(value, shape);
    }
    case 'either': {
      const fitting = shape.shapes.find((one) => isOfForm(value, one));
      return fitting === undefined
        ? { path, why: `it must be ${shape.shapes.map(formOf).join(' or ')}` }
        : within(value, fitting, path);
    }
  }

  function membersProblem(
    value: Readonly<Record<string, unknown>>,
    members: Readonly<Record<string, Shape>>,
  ): NotAllowed | null {
    return firstOf(Object.entries(value), ([name, inner]) => {
      if (inner == null) return null;
      const at = path === '' ? name : `${path}.${name}`;
      const known = spelling(name);
      if (Object.hasOwn(members, known)) return within(inner, members[known]!, at);
      return { path: at, why: `it must be left out; allowed are ${Object.keys(members).join(', ')}` };
    });
  }

  function kindProblem(
    value: Readonly<Record<string, unknown>>,
    { kinds, by, usual }: Extract<Shape, { is: 'kinds' }>,
  ): NotAllowed | null {
    const named = value[by] ?? usual;
    const kind = Object.keys(kinds).find((one) => isKind(named, one));
    if (kind !== undefined) return within(value, kinds[kind]!, path);
    const is = named === null ? `it has no ${by}` : `its ${by} is ${shown(named)}`;
    return { path, why: `${is}; allowed are ${Object.keys(kinds).join(', ')}` };
  }
}

/** A kind may have the date of its version behind it: `bash_*` is `bash_20250124`. */
function isKind(named: unknown, kind: string): boolean {
  if (typeof named !== 'string') return false;
  return kind.endsWith('_*') ? named.replace(/_\d{8}$/, '_*') === kind : named === kind;
}

function valueProblem(
  value: unknown,
  { values, anyCase }: Extract<Shape, { is: 'values' }>,
  path: string,
): NotAllowed | null {
  const given = anyCase && typeof value === 'string' ? value.toLowerCase() : value;
  if (values.some((one) => one === given)) return null;
  return { path, why: `it is ${shown(value)}; allowed are ${values.map(String).join(', ')}` };
}

function isPlain(value: unknown): boolean {
  return Array.isArray(value)
    ? value.every((one) => one == null || isPlain(one))
    : ['string', 'number', 'boolean'].includes(typeof value);
}

const references = new Set(['$ref', '$dynamicRef', '$recursiveRef', '$id']);
/** Source: json-schema.org, "Specification". */
const knownSchema = /^https?:\/\/json-schema\.org\/draft(?:-0[3-7]|\/20(?:19-09|20-12))\/schema#?$/;

/** Why a member of a schema leads out of it; null if it does not. */
function whyOutward(name: string, value: unknown): string | null {
  if (typeof value !== 'string' || value.startsWith('#')) return null;
  if (references.has(name)) return 'it must begin with #, as a reference inside the schema';
  if (name === '$schema' && !knownSchema.test(value)) return 'it must be a version of json-schema.org';
  // The name of `$id` in draft 4, and a usual name of properties.
  return name === 'id' && value.includes('//') ? 'it must not be an address' : null;
}

/** Some servers follow the references of a schema wherever they lead. */
function outwardReference(value: unknown, path: string): NotAllowed | null {
  if (Array.isArray(value))
    return firstOf(value.entries(), ([index, inner]) => outwardReference(inner, `${path}[${index}]`));
  if (!isObject(value)) return null;
  return firstOf(Object.entries(value), ([name, inner]) => {
    const why = whyOutward(name, inner);
    if (why !== null) return { path: `${path}.${name}`, why };
    return outwardReference(inner, `${path}.${name}`);
  });
}

function isOfForm(value: unknown, shape: Shape): boolean {
  if (shape.is === 'list') return Array.isArray(value);
  if (shape.is === 'object' || shape.is === 'kinds' || shape.is === 'map') return isObject(value);
  return !Array.isArray(value) && !isObject(value);
}

function formOf(shape: Shape): string {
  if (shape.is === 'list') return 'a list';
  return shape.is === 'object' || shape.is === 'kinds' || shape.is === 'map' ? 'an object' : 'a text';
}

function firstOf<T>(items: Iterable<T>, problem: (item: T) => NotAllowed | null): NotAllowed | null {
  for (const item of items) {
    const found = problem(item);
    if (found !== null) return found;
  }
  return null;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing';
  return cutText(text, 60);
}

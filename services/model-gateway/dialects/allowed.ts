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
  | { readonly is: 'text'; readonly pattern: RegExp; readonly must: string }
  | { readonly is: 'list'; readonly of: Shape }
  | { readonly is: 'object'; readonly members: Readonly<Record<string, Shape>> }
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

export const dataUrl: Shape = {
  is: 'text',
  pattern: /^data:[^,\s]{1,200};base64,[A-Za-z0-9+/=_%-]*$/i,
  must: 'a data URL in base64',
};
export const base64: Shape = { is: 'text', pattern: /^[A-Za-z0-9+/=_\s-]*$/, must: 'base64' };
export const inlineData: Shape = {
  is: 'text',
  pattern: /^(?:data:[^,\s]{1,200};base64,)?[A-Za-z0-9+/=_\s-]*$/i,
  must: 'base64, or a data URL in base64',
};

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
      if (typeof value === 'string' && shape.pattern.test(value)) return null;
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

/** Some servers follow the references of a schema wherever they lead. */
function outwardReference(value: unknown, path: string): NotAllowed | null {
  if (Array.isArray(value))
    return firstOf(value.entries(), ([index, inner]) => outwardReference(inner, `${path}[${index}]`));
  if (!isObject(value)) return null;
  return firstOf(Object.entries(value), ([name, inner]) => {
    const isReference = (name === '$ref' || name === '$dynamicRef') && typeof inner === 'string';
    if (isReference && !inner.startsWith('#'))
      return { path: `${path}.${name}`, why: 'it must begin with #, as a reference inside the schema' };
    return outwardReference(inner, `${path}.${name}`);
  });
}

function isOfForm(value: unknown, shape: Shape): boolean {
  if (shape.is === 'list') return Array.isArray(value);
  if (shape.is === 'object' || shape.is === 'kinds') return isObject(value);
  return !Array.isArray(value) && !isObject(value);
}

function formOf(shape: Shape): string {
  if (shape.is === 'list') return 'a list';
  return shape.is === 'object' || shape.is === 'kinds' ? 'an object' : 'a text';
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

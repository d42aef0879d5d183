import * as t from 'io-ts';
import { type FieldError, InvalidInput } from './errors.ts';
import { cutText } from './redaction/cut-text.ts';
import { repeatedMember } from './repeated-member.ts';

/**
 * Decodes what comes from outside. Unknown fields are dropped where the codec is `t.strict`.
 * @param what names the input for the message, for example `config/policy.json`
 * @throws InvalidInput with one entry per broken rule: JSON pointer, value and rule
 */
export function decode<A>(
  codec: t.Decoder<unknown, A>,
  value: unknown,
  what: string,
  code = 'invalid_input',
): A {
  const result = codec.decode(value);
  if (result._tag === 'Right') return result.right;
  const errors = innermost(distinct(withoutAbsence(result.left).map(fieldError)));
  const first = errors[0]!;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  throw new InvalidInput(code, `${what}: ${first.pointer || '/'} ${first.detail}${more}`, { errors });
}

/** Whether `value` is what the codec describes, for choosing between shapes. */
export function matches<A>(codec: t.Decoder<unknown, A>, value: unknown): boolean {
  return codec.decode(value)._tag === 'Right';
}

/** Parses JSON text and decodes it; a syntax error is reported like a broken rule. */
export function decodeJson<A>(
  codec: t.Decoder<unknown, A>,
  text: string,
  what: string,
  code = 'invalid_input',
): A {
  return decode(codec, parseJson(text, what), what, code);
}

/** Deeper nesting comes from no program of ours, and could exhaust the stack of what walks it. */
const maxDepth = 100;

/** @throws InvalidInput (`invalid_json`), also for a member that is there twice */
export function parseJson(text: string, what: string): unknown {
  if (isDeeper(text, maxDepth))
    throw new InvalidInput('invalid_json', `${what} is nested more than ${maxDepth} levels deep, the limit`);
  const value = parsed(text, what);
  const repeated = repeatedMember(text);
  if (repeated === null) return value;
  throw new InvalidInput('invalid_json', `${what}: ${twice(repeated)}`);
}

/** The rule for a member that stands twice. */
export function twice(pointer: string): string {
  return `${cutText(pointer, 200)} stands twice: must be there once`;
}

function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidInput('invalid_json', `${what} is not JSON: ${(cause as Error).message}`, { cause });
  }
}

/** Counts brackets outside of strings in the text, before anything walks its value. */
function isDeeper(text: string, limit: number): boolean {
  let depth = 0;
  let inString = false;
  for (let position = 0; position < text.length; position++) {
    const code = text.charCodeAt(position);
    if (inString && code === backslash) position++;
    else if (code === quote) inString = !inString;
    else if (inString) continue;
    else if (code === openBracket || code === openBrace) depth++;
    else if (code === closeBracket || code === closeBrace) depth--;
    if (depth > limit) return true;
  }
  return false;
}

const [quote, backslash, openBracket, closeBracket, openBrace, closeBrace] = [...'"\\[]{}'].map((character) =>
  character.charCodeAt(0),
);

function fieldError(error: t.ValidationError): FieldError {
  const entries = error.context.filter((entry, index) => {
    const parent = error.context[index - 1]?.type as { _tag?: string } | undefined;
    return parent?._tag !== 'UnionType' && parent?._tag !== 'IntersectionType' && entry.key !== '';
  });
  const pointer = entries
    .map((entry) => `/${entry.key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
  const rule = error.message ?? `must be ${expectedBy(error.context.at(-1)!.type)}`;
  return { pointer, detail: `${show(error.value)}: ${rule}` };
}

/** Words for what has no rule of its own; a name that io-ts made up of its parts says nothing to a reader. */
function expectedBy(type: { readonly name: string }): string {
  const { _tag: tag, name } = type as { readonly _tag?: string; readonly name: string };
  const plain = plainNames[name];
  if (plain !== undefined) return plain;
  if (!/[<{|]/.test(name)) return name;
  if (tag === 'ArrayType') return 'a list';
  return tag === 'InterfaceType' || tag === 'StrictType' || tag === 'ExactType' || tag === 'DictionaryType'
    ? 'an object'
    : name;
}

const plainNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  Array: 'a list',
  UnknownRecord: 'an object',
};

function show(value: unknown): string {
  if (value === undefined) return 'is missing';
  const text = JSON.stringify(value) ?? String(value);
  return `is ${cutText(text, 80)}`;
}

/** Without "or missing" and "or null", unless there is nothing else to report. */
function withoutAbsence(errors: readonly t.ValidationError[]): readonly t.ValidationError[] {
  const present = errors.filter(({ context }) => {
    const { _tag: tag } = context.at(-1)!.type as { readonly _tag?: string };
    return tag !== 'UndefinedType' && (tag !== 'NullType' || !isMember(context));
  });
  return present.length > 0 ? present : errors;
}

/** Whether it is one of several that a union takes. */
function isMember(context: t.Context): boolean {
  return (context.at(-2)?.type as { readonly _tag?: string } | undefined)?._tag === 'UnionType';
}

/** Where an error inside shows which of several shapes was meant, drops what was reported of the others. */
function innermost(errors: readonly FieldError[]): FieldError[] {
  return errors.filter(({ pointer }) => !errors.some((other) => other.pointer.startsWith(`${pointer}/`)));
}

function distinct(errors: FieldError[]): FieldError[] {
  const seen = new Set<string>();
  return errors.filter(({ pointer, detail }) => {
    const key = `${pointer} ${detail}`;
    return seen.has(key) ? false : seen.add(key);
  });
}

/** JSON schemas of the codecs made here, whose structure io-ts does not show. */
export const leafSchemas = new WeakMap<t.Mixed, Readonly<Record<string, unknown>>>();

/** One value that passes `is`; `rule` completes the sentence "must be …". */
export function valueThat<A>(
  name: string,
  rule: string,
  is: (value: unknown) => value is A,
  schema: Readonly<Record<string, unknown>>,
): t.Type<A> {
  const codec = new t.Type<A>(
    name,
    is,
    (value, context) => (is(value) ? t.success(value) : t.failure(value, context, `must be ${rule}`)),
    t.identity,
  );
  leafSchemas.set(codec, schema);
  return codec;
}

/** A string that passes `test`; `rule` completes the sentence "must be …". */
export function stringThat(name: string, rule: string, test: (text: string) => boolean): t.Type<string> {
  const is = (value: unknown): value is string => typeof value === 'string' && test(value);
  return valueThat(name, rule, is, { type: 'string', description: `Must be ${rule}.` });
}

export const NonEmptyString = stringThat(
  'NonEmptyString',
  'a string that is not empty',
  (text) => text.trim() !== '',
);

/** RFC 3339 date and time. Without an offset it would mean another moment in another time zone. */
export const Timestamp = stringThat(
  'Timestamp',
  'an RFC 3339 date and time with Z or an offset, for example 2026-11-21T08:50:00Z or 2026-11-21T09:50:00+01:00',
  (text) =>
    /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/i.test(text) &&
    !Number.isNaN(Date.parse(text)),
);

/** A time in the one form that `toISOString` gives, so that two of them can be compared as texts. */
export const UtcTimestamp = stringThat(
  'UtcTimestamp',
  'a date and time in UTC with milliseconds, for example 2026-01-02T03:04:05.000Z',
  (text) => !Number.isNaN(Date.parse(text)) && new Date(text).toISOString() === text,
);

export const Sha256 = stringThat('Sha256', 'a sha256 in lower-case hex', (text) =>
  /^[0-9a-f]{64}$/.test(text),
);

/** A git object id, SHA-1 or SHA-256. */
export const ObjectId = stringThat('ObjectId', 'a git object id', (text) =>
  /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text),
);

export function integerBetween(minimum: number, maximum: number): t.Type<number> {
  return valueThat(
    `integer ${minimum}..${maximum}`,
    `an integer from ${minimum} to ${maximum}`,
    (value): value is number =>
      Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum,
    { type: 'integer', minimum, maximum },
  );
}

/** @param rule completes the sentence "must be …" */
export function numberBetween(
  minimum: number,
  maximum: number,
  rule: string,
  schema: Readonly<Record<string, unknown>> = {},
): t.Type<number> {
  const is = (value: unknown): value is number =>
    typeof value === 'number' && value >= minimum && value <= maximum;
  return valueThat(`number ${minimum}..${maximum}`, rule, is, {
    type: 'number',
    minimum,
    maximum,
    ...schema,
  });
}

/** One of a fixed list of words. */
export function oneOf<const W extends readonly string[]>(words: W): t.Type<W[number]> {
  const is = (value: unknown): value is W[number] => typeof value === 'string' && words.includes(value);
  return valueThat(words.join(' | '), `one of ${words.join(', ')}`, is, {
    type: 'string',
    enum: [...words],
  });
}

export function listOfAtMost<A>(item: t.Type<A>, max: number): t.Type<A[]> {
  const list = t.array(item);
  const codec = new t.ArrayType<t.Type<A>, A[]>(
    `a list of at most ${max}`,
    (u): u is A[] => list.is(u) && u.length <= max,
    (u, context) =>
      Array.isArray(u) && u.length > max
        ? t.failure(u, context, `must be a list of at most ${max}, not ${u.length}`)
        : list.validate(u, context),
    t.identity,
    item,
  );
  leafSchemas.set(codec, { type: 'array', items: leafSchemas.get(item), maxItems: max });
  return codec;
}

/**
 * One of several shapes, chosen by the word in `tag`; an unknown word is refused with the known ones.
 * @param kinds by that word, each with its shape in `member`
 */
export function choiceBy<
  M extends string,
  K extends Readonly<Record<string, { readonly [N in M]: t.Mixed }>>,
>(tag: string, member: M, kinds: K): t.Type<t.TypeOf<K[keyof K][M]>> {
  const words = Object.keys(kinds);
  const codecs = Object.values(kinds).map((kind) => kind[member]) as [t.Mixed, t.Mixed, ...t.Mixed[]];
  const union = t.union(codecs);
  const tagged = t.type({ [tag]: oneOf(words) });
  function validate(value: unknown, context: t.Context): t.Validation<unknown> {
    const known = tagged.validate(value, t.appendContext(context, '0', tagged, value));
    if (known._tag === 'Left') return known;
    const index = words.indexOf(known.right[tag]!);
    const codec = codecs[index]!;
    return codec.validate(value, t.appendContext(context, String(index), codec, value));
  }
  return new t.UnionType(union.name, union.is, validate, union.encode, codecs);
}

export function optional<C extends t.Mixed>(codec: C): t.UnionC<[C, t.UndefinedC]> {
  return t.union([codec, t.undefined]);
}

export function nullable<C extends t.Mixed>(codec: C): t.UnionC<[C, t.NullC]> {
  return t.union([codec, t.null]);
}

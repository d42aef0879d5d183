import { isObject } from '../is-object.ts';

/** An upstream's tool calls cannot be put together for certain. */
export class BrokenToolCalls extends Error {}

export interface AssembledCall {
  /** Empty if the server gave none. */
  id: string;
  name: string;
  /** JSON as the model wrote it, and as far as it came. */
  arguments: string;
}

interface Entry {
  readonly index: number | null;
  readonly id: string;
  readonly name: string;
  readonly text: string;
}

/**
 * Puts tool calls together from the deltas of a chat completion, as servers write them: with or without an index and ids, with an id
 * for each delta, one index for all calls, names repeated, or arguments as an object. What may belong to either of two calls is an
 * error: calls are never joined by a guess.
 */
export class ToolCallAssembler<Call extends AssembledCall> {
  readonly #begin: () => Call;
  readonly #calls: Call[] = [];
  readonly #byIndex = new Map<number, Call>();

  /** @param begin makes an empty call, in order */
  constructor(begin: () => Call) {
    this.#begin = begin;
  }

  /** @returns the call with the text that is new in it. @throws BrokenToolCalls */
  delta(entry: unknown, position: number, siblings: number): { readonly call: Call; readonly text: string } {
    const read = entryOf(entry);
    const place = read.index ?? (siblings > 1 && read.name === '' && read.id === '' ? position : null);
    const current = place === null ? this.#current(read.id) : this.#byIndex.get(place);
    const call = current === undefined || begins(read, current) ? this.#new(read) : current;
    if (read.index !== null) this.#byIndex.set(read.index, call);
    else if (current !== call) this.#byIndex.set(this.#calls.length - 1, call);
    return this.#append(call, read);
  }

  /** A call of an answer that came whole. @throws BrokenToolCalls */
  whole(entry: unknown): { readonly call: Call; readonly text: string } {
    const read = entryOf(entry);
    return this.#append(this.#new(read), read);
  }

  /** @throws BrokenToolCalls for a call that has no name */
  end(): void {
    for (const [position, { name }] of this.#calls.entries())
      if (name === '') throw new BrokenToolCalls(`tool call ${position + 1} has no name`);
  }

  #current(id: string): Call | undefined {
    const named = id === '' ? undefined : this.#calls.findLast((call) => call.id === id);
    return named ?? this.#calls.at(-1);
  }

  #new({ name }: Entry): Call {
    if (name === '' && this.#calls.some((call) => call.name === ''))
      throw new BrokenToolCalls('two tool calls have no name');
    const call = this.#begin();
    this.#calls.push(call);
    return call;
  }

  #append(call: Call, { id, name, text }: Entry) {
    if (call.id === '') call.id = id;
    if (call.name === '') call.name = name;
    if (text.trim() !== '' && isWhole(call.arguments))
      throw new BrokenToolCalls(
        `the arguments of tool call ${JSON.stringify(call.name)} continue after their end`,
      );
    call.arguments += text;
    return { call, text };
  }
}

/** Whether a delta for the place of a call is the beginning of another call. */
function begins({ id, name, text }: Entry, call: AssembledCall): boolean {
  if (name === '' || call.name === '') return false;
  const isSame = id !== '' && id === call.id;
  if (isSame) return false;
  if (name !== call.name) return true;
  if (isWhole(call.arguments)) return true;
  // A name that is repeated with each piece; two calls without any arguments have ids of their own.
  return call.arguments === '' && text === '' && id !== '' && call.id !== '';
}

function entryOf(entry: unknown): Entry {
  if (!isObject(entry)) throw new BrokenToolCalls('a tool call is not an object');
  const { index, id, function: called, custom } = entry;
  const { name, arguments: given, input } = isObject(called) ? called : isObject(custom) ? custom : entry;
  return {
    index: indexOf(index),
    id: typeof id === 'string' || typeof id === 'number' ? String(id) : '',
    name: typeof name === 'string' ? name : '',
    text: textOf(given ?? input),
  };
}

function indexOf(index: unknown): number | null {
  const number = typeof index === 'string' && index.trim() !== '' ? Number(index) : index;
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 ? number : null;
}

/** Some servers give the arguments as what they are, others as their text. */
function textOf(given: unknown): string {
  if (given == null) return '';
  return typeof given === 'string' ? given : JSON.stringify(given);
}

/** True for a whole object or list: nothing but white space can follow. */
function isWhole(text: string): boolean {
  if (!/^\s*[[{][\s\S]*[\]}]\s*$/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

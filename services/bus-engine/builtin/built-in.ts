import type { Connection } from '../wire/connection.ts';

/** A function of the engine's own. What it throws besides `BuiltInError` is a failure inside. */
export interface BuiltIn {
  readonly description: string;
  /** Whether it only reads: then any token may call it. */
  readonly reads: boolean;
  answer(data: Arguments, caller: Connection): unknown;
}

export type BuiltIns = Readonly<Record<string, BuiltIn>>;

/** One that only reads. */
export function reading(description: string, answer: BuiltIn['answer']): BuiltIn {
  return { description, reads: true, answer };
}

export class BuiltInError extends Error {
  override readonly name = 'BuiltInError';
  readonly code: 'NOT_FOUND' | 'INVALID_ARGUMENTS' | 'deserialization_error' | 'trigger_registration_failed';

  constructor(code: BuiltInError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** What a built-in function is called with, member by member. */
export class Arguments {
  readonly #members: Readonly<Record<string, unknown>>;

  /** @throws BuiltInError (`deserialization_error`) */
  constructor(data: unknown) {
    if (data === null || data === undefined) this.#members = {};
    else if (typeof data === 'object' && !Array.isArray(data))
      this.#members = data as Record<string, unknown>;
    else throw new BuiltInError('deserialization_error', 'data must be an object');
  }

  any(name: string): unknown {
    return this.#members[name];
  }

  has(name: string): boolean {
    return this.#members[name] !== undefined && this.#members[name] !== null;
  }

  text(name: string): string {
    const value = this.#members[name];
    if (typeof value === 'string' && value !== '') return value;
    throw new BuiltInError('deserialization_error', `${name} must be a string that is not empty`);
  }

  optionalText(name: string): string | null {
    return this.has(name) ? this.text(name) : null;
  }

  flag(name: string): boolean {
    return this.#members[name] === true;
  }

  /** Whether a filter of this name is left out, or one of the values. */
  selects(name: string, ...values: unknown[]): boolean {
    return !this.has(name) || values.includes(this.text(name));
  }

  /** Whether `search` is left out, or stands in the text, in whatever capitals. */
  finds(text: string): boolean {
    return !this.has('search') || text.toLowerCase().includes(this.text('search').toLowerCase());
  }

  /** null where it is left out. */
  texts(name: string, most: number): readonly string[] | null {
    if (!this.has(name)) return null;
    const value = this.#members[name];
    if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
      throw new BuiltInError('deserialization_error', `${name} must be a list of strings`);
    if (value.length <= most) return value;
    throw new BuiltInError(
      'INVALID_ARGUMENTS',
      `${name} has ${value.length} entries: must have at most ${most}`,
    );
  }
}

/** Without the members that have no value. */
export function present<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member != null)) as Partial<T>;
}

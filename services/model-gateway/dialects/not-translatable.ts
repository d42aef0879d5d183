import { InvalidInput } from '#kit/errors.ts';
import { cutText } from '#kit/redaction/cut-text.ts';

/** A request asks for what chat completions have nothing for. */
export class NotTranslatable extends InvalidInput {
  /** The field, for example `tools[2].type`. */
  readonly param: string;

  /** @param is what the field holds, as the middle of a sentence; empty where its name says it */
  constructor(param: string, is: string, advice: string) {
    const found = is === '' ? 'is set' : `is ${is}`;
    super(
      'not_translatable',
      `${param} ${found}: this model's upstream speaks chat completions, which have nothing for it; ${advice}`,
    );
    this.param = param;
  }
}

/** What becomes of a member: it is translated or dropped, or dropped with the values that the rule takes and refused with others. */
export type MemberRule = 'translated' | 'dropped' | ((value: unknown) => boolean);

/**
 * Nothing that a request asks for is dropped in silence but what the table says.
 * @throws NotTranslatable naming the first member that the table does not have, or not with this value
 */
export function checkMembers(
  request: Readonly<Record<string, unknown>>,
  rules: Readonly<Record<string, MemberRule>>,
): void {
  for (const [name, value] of Object.entries(request)) {
    if (value == null) continue;
    const rule = Object.hasOwn(rules, name) ? rules[name]! : () => false;
    if (typeof rule === 'string' || rule(value)) continue;
    throw new NotTranslatable(name, shown(value), 'leave it out, or choose a model whose upstream has it');
  }
}

/** The value in a message: short, and nothing of an object's insides. */
export function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  const text = JSON.stringify(value) ?? 'missing';
  return cutText(text, 80);
}

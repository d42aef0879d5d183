import { isObject } from '#kit/is-object.ts';
import type { Rule } from './dialect.ts';

/** Lax servers take "100" for 100, so that anything else than a number would be more than what was reserved. */
export const countRule: Rule = [
  'a whole number of at least 1',
  (value) => value == null || (Number.isSafeInteger(value) && (value as number) >= 1),
];

export const modelRule: Rule = [
  'the name of a model, of 1 to 100 characters',
  (value) => typeof value === 'string' && value.length > 0 && value.length <= 100,
];

export const streamRule: Rule = ['true or false', (value) => value == null || typeof value === 'boolean'];

/** 0 where there is none; what else it may be is refused before. */
export function numberIn(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** The objects of a list; none of what is no list. */
// biome-ignore lint/suspicious/noExplicitAny: what clients send has every shape
export function objectsIn(value: unknown): readonly any[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

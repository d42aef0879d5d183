import type { Json } from '../providers/pass-through/wire.ts';
import { isObject } from '../providers/usage.ts';
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

/** Whether an address stands elsewhere, and not in the request itself. */
export function isElsewhere(url: unknown): boolean {
  return typeof url === 'string' && !/^data:/i.test(url);
}

/** Path of the first tool that the client does not run itself; null where there is none. */
export function toolOfUpstream(tools: unknown, isOfClient: (tool: Json) => boolean): string | null {
  const at = objectsIn(tools).findIndex((tool) => !isOfClient(tool));
  return at === -1 ? null : `tools[${at}]`;
}

/** The objects of a list; none of what is no list. */
// biome-ignore lint/suspicious/noExplicitAny: what clients send has every shape
export function objectsIn(value: unknown): readonly any[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

import { addTerms, partsOf, type Terms, termOf } from './words.ts';

/**
 * Counts the terms of a path: those of its words, and its last names written together, with and without what follows the first
 * dot: `kit/crash-point.test.ts` is also `crashpoint`, `crashpointtestt`, `kitcrashpoint` and `kitcrashpointtestt`.
 */
export function addPathTerms(path: string, terms: Terms): void {
  addTerms(path, terms);
  for (const term of wholesOfPath(path)) terms.set(term, (terms.get(term) ?? 0) + 1);
}

/** A file's name and its last two and three names as one term each. */
export function wholesOfPath(path: string): Set<string> {
  const names = path.split(/[/\\]/).filter((name) => name !== '');
  const wholes = new Set<string>();
  for (let count = 1; count <= Math.min(3, names.length); count++) {
    const last = names.slice(-count).join('/');
    wholes.add(joined(last));
    const dot = last.indexOf('.', last.lastIndexOf('/') + 2);
    if (dot > 0) wholes.add(joined(last.slice(0, dot)));
  }
  wholes.delete('');
  return wholes;
}

/** Several words as if they were written as one. */
export function joined(text: string): string {
  return termOf(partsOf(text).join('')).slice(0, 64);
}

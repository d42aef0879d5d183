import { Refused } from '#kit/errors.ts';

/** Of 50 or 100 entries each, as a rule. */
const maxPages = 1_000;

/** Numbers of the pages of a list, from 1. @throws Refused (`forge_reply_endless`) where the caller wants more of them than a list has */
export function* pagesOf(forge: string, what: string): Generator<number> {
  for (let page = 1; page <= maxPages; page++) yield page;
  throw new Refused(
    'forge_reply_endless',
    `forge '${forge}' gives more than ${maxPages} pages of ${what}, which are not read further`,
    { facts: { limit: maxPages } },
  );
}

import type * as t from 'io-ts';
import { integerBetween, oneOf, stringThat } from '../../decode.ts';
import { textMasked } from '../../redaction/masked-text.ts';

/** Decoders of members that several messages of core-context's wire have. */

/** `owner/repo`, or `forge/owner/repo` where forges share names. */
export const RepositoryName = stringThat(
  'RepositoryName',
  "a repository's name: one to three parts of letters, digits, '-', '_' and '.', joined by '/'; for example demo/hello",
  (text) =>
    /^[A-Za-z0-9_.][A-Za-z0-9._-]{0,199}(\/[A-Za-z0-9_.][A-Za-z0-9._-]{0,199}){0,2}$/.test(text) &&
    !text.split('/').some((part) => part === '.' || part === '..'),
);

export const Limit = integerBetween(1, 100);

function queryText(name: string): t.Type<string> {
  return stringThat(
    name,
    'a text of 1 to 20000 characters that is not only white space',
    (text) => text.trim() !== '' && text.length <= 20_000,
  );
}

/** Words of a person or a program; nothing in them is syntax. Masked as what they find is. */
export const QueryText = textMasked(queryText('QueryText'));

export const CypherText = queryText('CypherText');

/** Which store answered. */
export const Source = oneOf(['record', 'grafeo', 'neo4j']);

import * as t from 'io-ts';
import { leafSchemas, stringThat } from '../../decode.ts';
import { jsonSchema } from '../../json-schema.ts';

/** Words of others; control characters are kept as what they are, data. */
export function textOfAtMost(max: number): t.Type<string> {
  return stringThat(`Text${max}`, `a text of at most ${max} characters`, (text) => text.length <= max);
}

export function listOfAtMost<A>(item: t.Type<A>, max: number): t.Type<A[]> {
  const list = t.array(item);
  const codec = new t.Type<A[]>(
    `a list of at most ${max}`,
    (u): u is A[] => list.is(u) && u.length <= max,
    (u, context) =>
      Array.isArray(u) && u.length > max
        ? t.failure(u, context, `must be a list of at most ${max}, not ${u.length}`)
        : list.validate(u, context),
    t.identity,
  );
  leafSchemas.set(codec, { ...jsonSchema(list), maxItems: max });
  return codec;
}

/** Names of owners and repositories become parts of addresses elsewhere. */
export const OwnerName = stringThat(
  'OwnerName',
  "an owner's name: letters, digits, '-', '_' and '.', for example koajs",
  (text) => /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$/.test(text),
);

export const RepoName = stringThat(
  'RepoName',
  "a repository's name without its owner: letters, digits, '-', '_' and '.', not .git at the end, for example koa",
  (text) => /^(?!\.{1,2}$|-)[A-Za-z0-9_.-]{1,100}$/.test(text) && !/\.(git|lock)$/i.test(text),
);

export const ForgeName = stringThat(
  'ForgeName',
  'the name of a forge in config/forges.json, for example github',
  (text) => /^[a-z][a-z0-9-]{0,39}$/.test(text),
);

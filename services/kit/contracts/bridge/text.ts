import type * as t from 'io-ts';
import { stringThat } from '../../decode.ts';

/** Words of others; control characters are kept as what they are, data. */
export function textOfAtMost(max: number): t.Type<string> {
  return stringThat(`Text${max}`, `a text of at most ${max} characters`, (text) => text.length <= max);
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

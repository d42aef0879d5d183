import { Option } from 'commander';
import { InvalidInput } from '../errors.ts';

/**
 * An option with one of some words, which help lists and shells complete.
 * @param repeatable its value is then the list of all that were given
 * @throws InvalidInput (`invalid_option`) when it is parsed, naming the words
 */
export function choice<const W extends readonly string[]>(
  flags: string,
  description: string,
  words: W,
  { repeatable = false }: { readonly repeatable?: boolean } = {},
): Option {
  const option = new Option(flags, description).choices(words);
  return option.argParser((text: string, before: unknown): unknown => {
    if (!words.includes(text))
      throw new InvalidInput('invalid_option', `${option.long} '${text}' must be one of ${words.join(', ')}`);
    return repeatable ? [...(Array.isArray(before) ? before : []), text] : text;
  });
}

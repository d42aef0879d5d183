import type * as t from 'io-ts';
import { parse } from 'smol-toml';
import { decode } from '#kit/decode.ts';
import { InvalidInput, messageOf } from '#kit/errors.ts';
import type { Files } from './project.ts';

/**
 * A TOML file; null for one below the root that cannot be read: it may be an input of tests.
 * @throws InvalidInput (`validation_invalid`) for one at the root
 */
export async function readToml<A>(
  codec: t.Decoder<unknown, A>,
  files: Files,
  path: string,
): Promise<A | null> {
  try {
    return decode(codec, parsed(await files.text(path), path), path, 'validation_invalid');
  } catch (error) {
    if (!path.includes('/')) throw error;
    return null;
  }
}

function parsed(text: string, path: string): unknown {
  try {
    return parse(text);
  } catch (cause) {
    throw new InvalidInput('validation_invalid', `${path} is not TOML: ${messageOf(cause).split('\n')[0]}`, {
      cause,
    });
  }
}

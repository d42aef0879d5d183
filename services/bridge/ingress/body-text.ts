import { parseJson } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @throws InvalidInput (`invalid_json`) */
export function jsonOf(body: Uint8Array): unknown {
  let text: string;
  try {
    text = utf8.decode(body);
  } catch (cause) {
    throw new InvalidInput('invalid_json', 'the body is not JSON: it is not UTF-8', { cause });
  }
  return parseJson(text, 'the body');
}

import { codeOf, Refused } from '#kit/errors.ts';
import { secretPath } from '#kit/folders.ts';
import { readSmallFile } from '#kit/small-file.ts';
import type { ChannelParts } from '../channel.ts';

/**
 * One line of a file in the secrets folder, read each time.
 * @throws Refused (`notification_secret_missing`, `notification_secret_unusable`)
 */
export function readSecretLine(
  { folders, learned }: Pick<ChannelParts, 'folders' | 'learned'>,
  name: string,
  what: string,
): string {
  const path = secretPath(folders, name);
  let text: string;
  try {
    text = readSmallFile(path).trim();
  } catch (cause) {
    const missing = codeOf(cause) === 'ENOENT';
    throw new Refused(
      missing ? 'notification_secret_missing' : 'notification_secret_unusable',
      missing ? `there is no ${what} in ${path}` : `${path} cannot be read (${codeOf(cause)})`,
      { cause, facts: { path }, hint: `Write the ${what} into ${path}.` },
    );
  }
  if (text === '' || /\s/.test(text) || text.length > 4_096)
    throw new Refused(
      'notification_secret_unusable',
      `${path} must hold one ${what} and nothing else; it is empty, longer than 4,096 characters, or has spaces or line breaks inside`,
      { facts: { path }, hint: `Write the ${what} into ${path}.` },
    );
  learned(text);
  return text;
}

/** @throws as `readSecretLine`, and where it is no address */
export function readAddress(parts: Pick<ChannelParts, 'folders' | 'learned'>, name: string): string {
  const what = 'address of the incoming webhook';
  const address = readSecretLine(parts, name, what);
  const url = URL.parse(address);
  if (url !== null && /^https?:$/.test(url.protocol)) return address;
  const path = secretPath(parts.folders, name);
  throw new Refused(
    'notification_secret_unusable',
    `${path} must hold an http or https address, for example https://hooks.example.org/…`,
    { facts: { path }, hint: `Write the ${what} into ${path}.` },
  );
}

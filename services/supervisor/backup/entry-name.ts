import { InvalidInput } from '#kit/errors.ts';
import { unfinishedRestoreName } from '#kit/folders.ts';

/** Where an entry of a backup belongs. */
export interface EntryPlace {
  readonly root: 'state' | 'config';
  /** Below the root, in parts that are no way out of it. */
  readonly parts: readonly string[];
}

const longestName = 4_096;
/** Bytes of a name that a file system takes. */
const longestPart = 255;

/** @throws InvalidInput (`backup_unsafe`) for a name that is not one of ours */
export function placeOf(name: string): EntryPlace {
  const [root, ...parts] = name.split('/');
  const fits = name.length <= longestName && !/[\p{Cc}\\]/u.test(name);
  const plain = parts.length > 0 && parts.every(isPlain) && !parts[0]!.startsWith(unfinishedRestoreName);
  if (fits && plain && (root === 'state' || root === 'config')) return { root, parts };
  throw new InvalidInput(
    'backup_unsafe',
    `the backup has an entry ${JSON.stringify(name.slice(0, 200))}: must be a path below state/ or config/ without . and .., control characters or ${unfinishedRestoreName}`,
    { hint: 'Nothing was restored. Core makes no such backups: it was changed, or comes from elsewhere.' },
  );
}

function isPlain(part: string): boolean {
  return part !== '' && part !== '.' && part !== '..' && Buffer.byteLength(part) <= longestPart;
}

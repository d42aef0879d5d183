import type { Folders } from '../folders.ts';
import { mergedDocument, readConcernDocument } from './concern.ts';
import { hasPointer, isObject } from './merge.ts';
import type { SettingRow } from './setting-row.ts';

/**
 * The values of one concern in force, each with the file that it comes from. A list is one value.
 * @param overrides what flags and environment give in place of the files
 */
export function describeConcern(
  name: string,
  folders: Pick<Folders, 'config'>,
  overrides: readonly SettingRow[] = [],
): SettingRow[] {
  const files = readConcernDocument(name, folders);
  const { shipped, user } = files;
  return leaves(mergedDocument(files).document, []).map(([path, value]): SettingRow => {
    const pointer = path.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
    const key = [name, ...path].join('.');
    const override = overrides.find((row) => row.key === key);
    if (override !== undefined) return override;
    const mine = hasPointer(user.document, pointer);
    return {
      key,
      value,
      source: mine ? 'user' : 'default',
      where: mine ? user.path : shipped.path,
    };
  });
}

function leaves(value: unknown, path: readonly string[]): [readonly string[], unknown][] {
  if (!isObject(value) || Object.keys(value).length === 0) return [[path, value]];
  return Object.entries(value).flatMap(([key, member]) => leaves(member, [...path, key]));
}

import { join } from 'node:path';
import type * as t from 'io-ts';
import { crashPoint } from '../crash-point.ts';
import { writeFileDurably } from '../durable-file.ts';
import { type Folders, prepareFolder } from '../folders.ts';
import { withFileLock } from '../storage/lock.ts';
import { decodeConcern, readConcernDocument } from './concern.ts';
import { isObject } from './merge.ts';

export interface ConcernChange<A> {
  readonly name: string;
  readonly codec: t.Type<A, unknown, unknown>;
  /** New values of members, from the user's own file as it is under the lock. */
  readonly members: (own: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
  /** Checks of the result what its shape cannot say. */
  readonly check: (value: A, path: string) => void;
}

/**
 * Changes members of the user's own file of one concern, whole or not at all, and leaves everything else in it as it is.
 * @returns its path
 * @throws InvalidInput (`config_invalid`, `invalid_json`) where the file or the result is wrong; then nothing is written
 */
export function changeConcern<A>(folders: Pick<Folders, 'config'>, change: ConcernChange<A>): string {
  const { name, codec, members, check } = change;
  prepareFolder(folders.config, 'config');
  return withFileLock(join(folders.config, `.${name}.lock`), () => {
    const files = readConcernDocument(name, folders);
    const { path } = files.user;
    const own = isObject(files.user.document) ? files.user.document : {};
    const document = { ...own, ...members(own) };
    check(decodeConcern(codec, { ...files, user: { path, document } }), path);
    crashPoint('config.checked');
    writeFileDurably(path, `${JSON.stringify(document, null, 2)}\n`);
    crashPoint('config.written');
    return path;
  });
}

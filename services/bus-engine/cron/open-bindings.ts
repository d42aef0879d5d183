import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { Failed, messageOf } from '#kit/errors.ts';
import { holdFolder } from '#kit/storage/lock.ts';
import { isSqliteDamage } from '#kit/storage/sqlite-error.ts';
import { BindingStore } from './binding-store.ts';

export interface OpenBindings {
  readonly store: BindingStore;
  close(): void;
}

/**
 * Opens `<folder>/triggers.sqlite` for this process alone, and makes it where it is missing. A damaged one is set aside: workers
 * register their triggers again.
 * @throws Conflict (`bus_held`), Failed (`bus_store_unusable`)
 */
export function openBindings(folder: string): OpenBindings {
  const hold = holdFolder(folder, { code: 'bus_held', name: 'the bus' });
  try {
    const store = openStore(join(folder, 'triggers.sqlite'));
    return {
      store,
      close() {
        store.close();
        hold.release();
      },
    };
  } catch (error) {
    hold.abandon();
    throw error;
  }
}

function openStore(path: string): BindingStore {
  try {
    return checked(path);
  } catch (error) {
    if (!isSqliteDamage(error)) throw unusable(path, error);
  }
  for (const suffix of ['', '-wal', '-shm']) setAside(path, suffix);
  return checked(path);
}

function checked(path: string): BindingStore {
  const store = new BindingStore(path);
  try {
    store.all();
    return store;
  } catch (error) {
    store.close();
    throw error;
  }
}

function setAside(path: string, suffix: string): void {
  try {
    renameSync(`${path}${suffix}`, `${path}.damaged${suffix}`);
  } catch {
    // That part does not exist.
  }
}

function unusable(path: string, cause: unknown): Failed {
  return new Failed('bus_store_unusable', `${path} cannot be used: ${messageOf(cause)}`, { cause });
}

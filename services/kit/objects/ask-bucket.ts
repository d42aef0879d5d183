import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { text } from 'node:stream/consumers';
import { Failed } from '../errors.ts';
import type { ObjectStore } from './object-store.ts';

type Asked = Pick<ObjectStore, 'name' | 'put' | 'get' | 'delete'>;

/**
 * Whether the bucket keeps, gives back and deletes an object. Its name is always the same for a program on a host, so that what a
 * killed process left is overwritten and deleted by the next.
 * @returns a word for people
 * @throws what the store throws, Failed (`object_not_kept`)
 */
export async function askBucket(store: Asked, program: string): Promise<string> {
  const object = `probes/${hostname().replaceAll(/[^A-Za-z0-9-]/g, '-')}-${program}`;
  // The same program of another installation on this host may have deleted or replaced it in between.
  const kept = (await isKept(store, object)) || (await isKept(store, object));
  if (kept) return `${store.name} keeps, gives back and deletes objects`;
  throw new Failed('object_not_kept', `${store.name} acknowledged ${object}, and did not give it back`, {
    facts: { objects: store.name, object },
    hint: 'Use another server or endpoint.',
  });
}

async function isKept(store: Asked, object: string): Promise<boolean> {
  const content = randomUUID();
  await store.put(object, Buffer.from(content));
  const found = await store.get(object);
  const kept = found !== null && (await text(found)) === content;
  await store.delete(object);
  return kept;
}

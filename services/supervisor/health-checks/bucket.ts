import { setTimeout as pause } from 'node:timers/promises';
import { answerMs } from '#kit/config/settings.ts';
import { readS3Settings } from '#kit/config/storage.ts';
import { environment } from '#kit/environment.ts';
import type { Folders } from '#kit/folders.ts';
import { broken, type Finding, finding } from './installation.ts';

/** The bucket of `storage.s3`, which is asked to keep an object; nothing where none is configured. */
export async function checkBucket(folders: Folders): Promise<Finding[]> {
  try {
    const settings = readS3Settings(folders);
    if (settings === null) return [];
    const [{ openS3 }, { askBucket }] = await Promise.all([
      import('#kit/objects/s3.ts'),
      import('#kit/objects/ask-bucket.ts'),
    ]);
    const withinMs = answerMs({ folders, environment });
    const store = openS3(settings, environment);
    const over = new AbortController();
    try {
      const late = pause(withinMs, null, { signal: over.signal });
      late.catch(() => {});
      const said = await Promise.race([askBucket(store, 'doctor'), late]);
      if (said !== null) return [finding('bucket', 'works', said)];
      const detail = `${store.name} did not answer within ${withinMs / 1000} s: work with large artifacts waits`;
      return [finding('bucket', 'warning', detail, 'It may be busy, or not be reached from here.')];
    } finally {
      over.abort();
      await store.close();
    }
  } catch (error) {
    return [broken('bucket', error)];
  }
}

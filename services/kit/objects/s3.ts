import { setTimeout } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { S3Settings } from '../config/storage.ts';
import { sha256 } from '../digest.ts';
import { Failed, messageOf, Unavailable } from '../errors.ts';
import { type Connections, openConnections, type Proxies } from '../http/client.ts';
import { type ObjectOutcome, type ObjectRequest, objectRequests } from '../measurements/store-calls.ts';
import { readSmallFile } from '../small-file.ts';
import type { ObjectStore } from './object-store.ts';
import { s3Code, s3Refused, s3Unreached } from './s3-error.ts';

type Answer = Dispatcher.ResponseData<unknown>;

const attempts = 3;
/** Milliseconds without a byte. */
const idleMs = 30_000;
const operations = { GET: 'get', PUT: 'put', DELETE: 'delete' } as const;
/** Characters of an error that are read. */
const maxError = 65_536;

/**
 * A bucket of an S3 server, with signatures of version 4. `aws4fetch` makes them: `@aws-sdk/client-s3` takes 0.4 s to load and 2.3 MB,
 * twice what the image of the tools has left.
 */
export function openS3(settings: S3Settings, proxies?: Proxies): ObjectStore {
  const { endpoint, region, bucket, prefix, ca_file, path_style } = settings;
  const base = new URL(endpoint);
  if (!path_style) base.hostname = `${bucket}.${base.hostname}`;
  const root = `${base.origin}/${path_style ? `${bucket}/` : ''}${prefix}`;
  let opened: Connections | null = null;

  return {
    name: root,
    async put(object, content) {
      const answer = await send('PUT', object, content);
      await answer.body.dump();
    },
    async get(object) {
      const answer = await send('GET', object);
      if (answer.statusCode !== 404) return pieces(answer);
      await answer.body.dump();
      return null;
    },
    async delete(object) {
      const answer = await send('DELETE', object);
      await answer.body.dump();
    },
    close: async () => opened?.destroy(),
  };

  /** An answer that is good, or says that there is no such object. Repeated where that can help: each request can be. */
  async function send(
    method: 'GET' | 'PUT' | 'DELETE',
    object: string,
    content?: Uint8Array,
  ): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await measured(method, () => once(method, `${root}${object}`, content));
      } catch (error) {
        if (!(error instanceof Unavailable) || attempt === attempts) throw error;
        await setTimeout(200 * 4 ** (attempt - 1));
      }
    }
  }

  async function measured(method: 'GET' | 'PUT' | 'DELETE', work: () => Promise<Answer>): Promise<Answer> {
    const began = performance.now();
    let outcome: ObjectOutcome = 'done';
    try {
      const answer = await work();
      if (answer.statusCode === 404) outcome = 'absent';
      return answer;
    } catch (error) {
      outcome = error instanceof Unavailable ? 'unavailable' : 'refused';
      throw error;
    } finally {
      const seconds = (performance.now() - began) / 1000;
      objectRequests.publish({ operation: operations[method], outcome, seconds } satisfies ObjectRequest);
    }
  }

  async function once(method: 'GET' | 'PUT' | 'DELETE', url: string, content?: Uint8Array): Promise<Answer> {
    const headers = await signed(method, url, sha256(content ?? ''));
    try {
      opened ??= openConnections({
        idleMs,
        ...(ca_file !== null && { ca: readSmallFile(ca_file) }),
        ...(proxies !== undefined && { proxies }),
      });
      const answer = await opened.request(url, { method, headers, body: content ?? null });
      if (answer.statusCode >= 200 && answer.statusCode < 300) return answer;
      const refusal = { status: answer.statusCode, body: await textOf(answer) };
      if (method !== 'PUT' && s3Code(refusal) === 'NoSuchKey') return { ...answer, statusCode: 404 };
      throw s3Refused(refusal, root);
    } catch (error) {
      throw s3Unreached(error, root);
    }
  }

  /** The server checks the content against the signed hash, where it does what S3 does. */
  async function signed(method: string, url: string, hash: string): Promise<Record<string, string>> {
    const { AwsV4Signer } = await import('aws4fetch');
    const signer = new AwsV4Signer({
      method,
      url,
      headers: { 'x-amz-content-sha256': hash },
      accessKeyId: readSecret('access_key_id_file'),
      secretAccessKey: readSecret('secret_access_key_file'),
      service: 's3',
      region,
    });
    return Object.fromEntries((await signer.sign()).headers);
  }

  async function* pieces(answer: Answer): AsyncIterable<Uint8Array> {
    try {
      for await (const piece of answer.body) yield piece;
    } catch (error) {
      throw s3Unreached(error, root);
    }
  }

  /** Read for each request, so that a key can be changed while Core runs. */
  function readSecret(name: 'access_key_id_file' | 'secret_access_key_file'): string {
    const path = settings[name];
    try {
      return readSmallFile(path).trim();
    } catch (cause) {
      throw new Failed(
        'objects_key_unreadable',
        `${path} (storage.s3.${name}) cannot be read: ${messageOf(cause)}`,
        { cause, facts: { path }, hint: 'Write the key there, readable by the user that runs Core alone.' },
      );
    }
  }
}

async function textOf(answer: Answer): Promise<string> {
  let text = '';
  for await (const piece of answer.body) if (text.length < maxError) text += piece;
  return text;
}

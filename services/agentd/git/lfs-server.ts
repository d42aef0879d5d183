import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import * as t from 'io-ts';
import { decodeJson, optional } from '#kit/decode.ts';
import { environment } from '#kit/environment.ts';
import { type CoreError, Failed, messageOf, NotFound, Unauthorized, Unavailable } from '#kit/errors.ts';
import { type GitCredential, isLocalRemote } from '#kit/git/git-environment.ts';
import { withoutUrlSecrets } from '#kit/git/git-failure.ts';
import type { LfsObject } from '#kit/git/lfs-pointer.ts';
import { type Connections, openConnections } from '#kit/http/client.ts';
import { requireRegularFile } from '#kit/small-file.ts';

/**
 * Reads objects of Git LFS by its batch API with basic transfers
 * (https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md), or from a repository on this machine.
 */
export interface LfsServer {
  /** `https://forge.example/owner/repo.git/info/lfs`, or the folder of a repository on this machine. */
  readonly url: string;
  /** Only its origins see it. */
  readonly credential: GitCredential | null;
}

/** A reason, for people, why one object is not fetched. */
class NotFetched extends Error {}

const media = 'application/vnd.git-lfs+json';
/** Objects in one question. */
const batchSize = 100;
const parallel = 4;
const maxRedirects = 3;
/** For all objects of a commit together, in ms. */
const timeout = 30 * 60 * 1000;
const Download = t.type({ href: t.string, header: optional(t.record(t.string, t.string)) });
const BatchReply = t.type({
  transfer: optional(t.string),
  objects: t.array(
    t.type({
      oid: t.string,
      authenticated: optional(t.boolean),
      actions: optional(t.type({ download: optional(Download) })),
      error: optional(t.type({ code: optional(t.number), message: optional(t.string) })),
    }),
  ),
});
type Offer = t.TypeOf<typeof BatchReply>['objects'][number];

const batches = openConnections({ proxies: environment, idleMs: 60_000, answerLimit: 4 * 1024 * 1024 });
const downloads = openConnections({ proxies: environment, idleMs: 60_000 });

/**
 * The LFS server of a repository, or why it has none that Core uses.
 * @param named URL that the `.lfsconfig` of the repository names, if any
 * @param hosts other https hosts that are allowed; they get no credentials
 */
export function lfsServerOf(
  clone_url: string,
  credential: GitCredential | null,
  named: string | null,
  hosts: readonly string[],
): LfsServer | { readonly refused: string } {
  const own = ownServer(clone_url);
  if (named === null) {
    return own === null
      ? { refused: 'the repository has no https or http address' }
      : { url: own, credential };
  }
  const shown = withoutUrlSecrets(named)
    .replace(/[^\x21-\x7e]/g, '\u{fffd}')
    .slice(0, 200);
  const url = URL.canParse(named) ? new URL(named) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || `${url.username}${url.password}${url.search}` !== '')
    return { refused: `.lfsconfig names '${shown}', which is not a plain https URL` };
  const address = `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  if (own !== null && URL.canParse(own) && new URL(own).origin === url.origin)
    return { url: address, credential };
  if (url.protocol === 'https:' && hosts.includes(url.host)) return { url: address, credential: null };
  return {
    refused: `.lfsconfig names '${shown}', whose host is neither the forge's nor in fetch_hosts of validation.json`,
  };
}

function ownServer(clone_url: string): string | null {
  if (isLocalRemote(clone_url)) return clone_url.startsWith('/') ? clone_url : fileURLToPath(clone_url);
  if (!/^https?:/.test(clone_url)) return null;
  const url = clone_url.replace(/\/+$/, '');
  return `${url}${url.endsWith('.git') ? '' : '.git'}/info/lfs`;
}

/** Path of an object in our store. */
export function storedObject(folder: string, oid: string): string {
  return join(folder, oid);
}

/** True if the object is in our store, whose files are whole. Marks it as used. */
export async function hasLfsObject(folder: string, { oid, size }: LfsObject): Promise<boolean> {
  const path = storedObject(folder, oid);
  const found = await stat(path).catch(() => null);
  if (found?.isFile() !== true || found.size !== size) return false;
  const now = new Date();
  await utimes(path, now, now).catch(() => {});
  return true;
}

/**
 * Fetches objects into a folder, each checked by size and sha256 before it has its name there.
 * @returns why some are missing, by oid
 * @throws Unavailable `lfs_unavailable`, Unauthorized `lfs_unauthorized`, NotFound `lfs_not_found`
 */
export async function fetchLfsObjects(
  server: LfsServer,
  objects: readonly LfsObject[],
  folder: string,
  signal: AbortSignal,
  connections: Pick<Connections, 'request'> = downloads,
): Promise<Map<string, string>> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const limited = AbortSignal.any([signal, AbortSignal.timeout(timeout)]);
  const missing = new Map<string, string>();
  const one = async (object: LfsObject, fetch: () => Promise<AsyncIterable<Uint8Array>>) => {
    try {
      await receive(await fetch(), object, folder);
    } catch (error) {
      signal.throwIfAborted();
      if (isDiskError(error)) throw error;
      missing.set(
        object.oid,
        error instanceof NotFetched ? error.message : `it cannot be fetched: ${messageOf(error)}`,
      );
    }
  };
  if (server.url.startsWith('/')) {
    for (const object of objects) await one(object, () => openLocal(server.url, object));
    return missing;
  }
  for (let at = 0; at < objects.length; at += batchSize) {
    const part = objects.slice(at, at + batchSize);
    const offers = await askFor(server, part, limited);
    const queue = [...part];
    const work = async () => {
      for (let object = queue.shift(); object !== undefined; object = queue.shift()) {
        const { oid } = object;
        await one(object, () => download(server, offers.get(oid), connections, limited));
      }
    };
    await Promise.all(Array.from({ length: parallel }, work));
  }
  return missing;
}

async function openLocal(gitDir: string, { oid }: LfsObject): Promise<AsyncIterable<Uint8Array>> {
  for (const repository of [gitDir, join(gitDir, '.git')]) {
    const path = join(repository, 'lfs', 'objects', oid.slice(0, 2), oid.slice(2, 4), oid);
    if ((await stat(path).catch(() => null)) === null) continue;
    requireRegularFile(path);
    return createReadStream(path);
  }
  throw new NotFetched('the repository does not have its object');
}

async function askFor(
  server: LfsServer,
  objects: readonly LfsObject[],
  signal: AbortSignal,
): Promise<Map<string, Offer>> {
  const { url, credential } = server;
  const body = JSON.stringify({
    operation: 'download',
    transfers: ['basic'],
    hash_algo: 'sha256',
    objects: objects.map(({ oid, size }) => ({ oid, size })),
  });
  const headers = { accept: media, 'content-type': media, ...authorization(url, credential) };
  let status: number;
  let answer: string;
  try {
    const reply = await batches.request(`${url}/objects/batch`, { method: 'POST', headers, body, signal });
    status = reply.statusCode;
    answer = await readText(reply.body);
  } catch (cause) {
    throw new Unavailable('lfs_unavailable', `the LFS server ${url} does not answer: ${messageOf(cause)}`, {
      cause,
    });
  }
  if (status !== 200) throw serverFailure(server, status);
  const reply = decodeJson(BatchReply, answer, `answer of ${url}`);
  if (reply.transfer !== undefined && reply.transfer !== 'basic')
    throw new Failed(
      'lfs_not_understood',
      `the LFS server ${url} offers the transfer '${plain(reply.transfer)}'; Core has only 'basic'`,
    );
  return new Map(reply.objects.map((offer) => [offer.oid, offer]));
}

function serverFailure({ url, credential }: LfsServer, status: number): CoreError {
  const facts = { url, status };
  if (status === 401 || status === 403) {
    const as = credential === null ? 'without a token' : `with ${credential.source}`;
    return new Unauthorized(
      'lfs_unauthorized',
      `the LFS server ${url} does not let us in ${as} (${status})`,
      { facts },
    );
  }
  if (status === 404 || status === 410 || status === 501)
    return new NotFound('lfs_not_found', `there is no LFS server at ${url} (${status})`, { facts });
  if (status >= 300 && status < 400)
    return new Failed(
      'lfs_not_understood',
      `the LFS server ${url} sends us on to another address, which is not followed`,
      { facts },
    );
  return new Unavailable('lfs_unavailable', `the LFS server ${url} answers with status ${status}`, { facts });
}

/** Headers of a connection, which no server has a say in. */
const ownHeaders = /^(host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|proxy-.*)$/i;

async function download(
  { url, credential }: LfsServer,
  offer: Offer | undefined,
  connections: Pick<Connections, 'request'>,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  if (offer?.error !== undefined) {
    const { code, message } = offer.error;
    throw new NotFetched(
      code === 404
        ? 'the LFS server does not have its object'
        : `the LFS server says: ${plain(message ?? String(code))}`,
    );
  }
  const action = offer?.actions?.download;
  if (offer === undefined || action === undefined)
    throw new NotFetched('the LFS server does not offer its object');
  const given = Object.entries(action.header ?? {}).filter(([name]) => !ownHeaders.test(name));
  const origin = new URL(url).origin;
  let target = allowed(action.href, origin);
  let headers: Record<string, string> = Object.fromEntries(given);
  const isSigned = given.some(([name]) => name.toLowerCase() === 'authorization');
  if (!isSigned && offer.authenticated !== true)
    headers = { ...headers, ...authorization(target.href, credential) };
  for (let redirects = 0; ; redirects++) {
    const reply = await connections.request(target, { method: 'GET', headers, signal });
    const { statusCode, headers: answered, body } = reply;
    if (statusCode === 200) return body;
    await body.dump().catch(() => {});
    const next = answered.location;
    if (statusCode < 300 || statusCode >= 400 || typeof next !== 'string')
      throw new NotFetched(`${target.host} answers with status ${statusCode}`);
    if (redirects >= maxRedirects || !URL.canParse(next, target.href))
      throw new NotFetched(`${target.host} sends us on to other addresses again and again`);
    const before = target.origin;
    target = allowed(new URL(next, target).href, origin);
    if (target.origin !== before) headers = {};
  }
}

/** Object storage is on hosts of its own; only the server itself may be without TLS. */
function allowed(href: string, origin: string): URL {
  const url = URL.canParse(href) ? new URL(href) : null;
  if (
    url !== null &&
    `${url.username}${url.password}` === '' &&
    (url.origin === origin || url.protocol === 'https:')
  )
    return url;
  throw new NotFetched(
    `the LFS server names the address '${plain(withoutUrlSecrets(href.split('?')[0]!))}', which is not https`,
  );
}

function authorization(url: string, credential: GitCredential | null): Record<string, string> {
  if (credential === null || !credential.origins.includes(new URL(url).origin)) return {};
  const { username, password } = credential;
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
}

/** Written aside, so that a crash leaves nothing under an object's name. */
async function receive(
  bytes: AsyncIterable<Uint8Array>,
  { oid, size }: LfsObject,
  folder: string,
): Promise<void> {
  const aside = join(folder, `.${oid}-${randomBytes(6).toString('hex')}`);
  const file = await open(aside, 'wx', 0o600);
  try {
    const hash = createHash('sha256');
    let have = 0;
    for await (const piece of bytes) {
      have += piece.length;
      if (have > size)
        throw new NotFetched(`its object is longer than the ${size} bytes that the pointer says`);
      hash.update(piece);
      await file.writeFile(piece);
    }
    if (have !== size) throw new NotFetched(`its object has ${have} bytes; the pointer says ${size}`);
    const digest = hash.digest('hex');
    if (digest !== oid)
      throw new NotFetched(`its object has another content than the pointer says (sha256 ${digest})`);
    await file.sync();
    await file.close();
    await rename(aside, storedObject(folder, oid));
  } finally {
    await file.close().catch(() => {});
    await rm(aside, { force: true });
  }
}

function isDiskError(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES'].includes(String(error.code)) &&
    'syscall' in error &&
    ['write', 'open', 'fsync'].includes(String(error.syscall))
  );
}

function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, '\u{fffd}').slice(0, 200);
}

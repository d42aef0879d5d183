import { renameSync, rmSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { crashPoint } from '../crash-point.ts';
import { decode } from '../decode.ts';
import { sha256 } from '../digest.ts';
import { syncFolder, writeFileDurably } from '../durable-file.ts';
import { Conflict, codeOf, InvalidInput, NotFound } from '../errors.ts';
import { prepareFolder } from '../folders.ts';
import { withFileLock } from '../storage/lock.ts';
import { type Identity, registryOf, type TokenFolders } from './check-tokens.ts';
import {
  inForce,
  isTokenText,
  newTokenText,
  type Scope,
  scopes,
  TokenName,
  type TokenRecord,
  tokenNameFor,
} from './token.ts';
import {
  namesOfNextTokens,
  namesOfTokenFiles,
  nextTokenPath,
  readRegistry,
  readTokenFile,
  tokenPath,
  writeRegistry,
} from './token-files.ts';
import { endOf, fateOf, historyAfter } from './token-history.ts';

export { type Identity, openTokens, type Tokens } from './check-tokens.ts';
export { type Scope, scopes, type TokenRecord } from './token.ts';

type ServiceToken = 'bridge' | 'worker' | 'agentd';
const serviceTokens: readonly {
  name: ServiceToken;
  scopes: readonly Scope[];
  /** What it had in earlier versions, where that was less. */
  earlier?: readonly Scope[];
}[] = [
  { name: 'bridge', scopes: ['read', 'plan'] },
  { name: 'worker', scopes: ['read', 'plan'] },
  { name: 'agentd', scopes: ['read', 'plan', 'mint'], earlier: ['read', 'mint'] },
];

/** Every scope that there was before the model gateway. */
const earlierScopes: readonly Scope[] = ['read', 'plan', 'approve', 'execute', 'admin'];

/**
 * Makes the tokens of the first start: one for the person with every scope, one for each service. Those that exist, also
 * revoked ones, are left as they are. Two processes at once make them once.
 * @param person whose name the person's token gets
 * @throws Conflict (`token_registry_missing`, `token_file_unknown`) where a token would take the place of another's
 */
export function ensureTokens(folders: TokenFolders, person: string = systemUser()): void {
  const wanted = [
    { name: personName(person), kind: 'person' as const, scopes },
    ...serviceTokens.map((token) => ({ ...token, kind: 'service' as const })),
  ];
  const missing = (records: readonly TokenRecord[]) =>
    wanted.filter(({ name, kind }) =>
      kind === 'person'
        ? !records.some((record) => record.kind === 'person')
        : !records.some((record) => record.name === name),
    );
  const present = readRegistry(registryOf(folders))?.records ?? [];
  const rotating = namesOfNextTokens(folders.tokens).length > 0;
  if (missing(present).length === 0 && !rotating && present.every((record) => laterScopes(record) === null))
    return;
  try {
    change(folders, (records) => {
      const names = missing(records).map(({ name }) => name);
      if (records.length === 0) refuseForeignTokens(folders, names);
      const made = missing(records).map((token) => {
        const text = textThere(folders, token.name) ?? undefined;
        return makeToken(folders, { ...token, expires: null, former: undefined }, text).record;
      });
      const kept = records.map((record) => ({
        ...record,
        scopes: [...(laterScopes(record) ?? record.scopes)],
      }));
      return [...kept, ...made];
    });
  } catch (error) {
    // A container reads its registry only; whoever can write there adds the scopes.
    if (missing(present).length > 0 || codeOf(error) !== 'config_not_writable') throw error;
  }
}

/**
 * All scopes, for a token that has every scope of an earlier version and lacks those added since; else null: a token that was limited
 * on purpose stays limited.
 */
export function laterScopes({ kind, name, scopes: has }: TokenRecord): readonly Scope[] | null {
  const service = kind === 'service' ? serviceTokens.find((token) => token.name === name) : undefined;
  const earlier = kind === 'person' ? earlierScopes : service?.earlier;
  const now = kind === 'person' ? scopes : service?.scopes;
  if (earlier === undefined || now === undefined || !earlier.every((scope) => has.includes(scope)))
    return null;
  return now.every((scope) => has.includes(scope)) ? null : now;
}

export interface MadeToken {
  readonly record: TokenRecord;
  readonly text: string;
  readonly path: string;
}

export interface RotateToken {
  readonly name: string;
  /** RFC 3339, null never; left out, as before. */
  readonly expires?: string | null;
}

export interface NewToken {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** RFC 3339; null never expires. */
  readonly expires?: string | null;
}

/**
 * Makes a token; the text is also in its file. A revoked or expired one of that name is replaced.
 * @param now of the clock that decides
 * @param shared the one of that name that several hosts know
 */
export function createToken(
  folders: TokenFolders,
  token: NewToken,
  now: number = Date.now(),
  shared?: TokenRecord,
): MadeToken {
  const name = decode(TokenName, token.name, 'token name', 'token_name_invalid');
  if (token.scopes.length === 0) {
    throw new InvalidInput(
      'token_scopes_missing',
      `token ${name} has no scope: must have some of ${scopes.join(', ')}`,
    );
  }
  const expires = token.expires ?? null;
  requireFuture(name, expires, now);
  let made: ReturnType<typeof makeToken> | undefined;
  change(folders, (records) => {
    const old = records.find((record) => record.name === name);
    if (old !== undefined && inForce(old, now)) throw tokenExists(name);
    const there = textThere(folders, name);
    if (there !== null && sha256(there) !== old?.sha256) throw unknownFile(folders, name);
    const kind = old?.kind ?? 'named';
    const before = shared ?? old;
    const former = before === undefined ? undefined : historyAfter(before, endOf(before));
    made = makeToken(folders, { name, kind, scopes: token.scopes, expires, former });
    return [...records.filter((record) => record.name !== name), made.record];
  });
  return { ...made!, path: tokenPath(folders.tokens, name) };
}

function requireFuture(name: string, expires: string | null, now: number): void {
  if (expires === null || Date.parse(expires) > now) return;
  throw new InvalidInput(
    'token_expiry_invalid',
    `token ${name} would expire at ${expires}: must be in the future`,
  );
}

/**
 * Replaces a token in force by one with a new text, which continues it: its approvals still count, the old text opens nothing. The
 * new text waits beside the token's file until the registry has it, so that no crash leaves a file with a text that counts for nothing.
 * @param now of the clock that decides
 * @param shared the token that several hosts know
 * @throws NotFound (`token_not_found`), Conflict (`token_not_in_force`, `token_file_unknown`)
 */
export function rotateToken(
  folders: TokenFolders,
  { name, expires: until }: RotateToken,
  now: number = Date.now(),
  shared?: TokenRecord,
): MadeToken {
  let made: { record: TokenRecord; text: string } | undefined;
  change(folders, (records) => {
    const own = records.find((record) => record.name === name);
    const old = shared ?? own;
    if (old === undefined) throw tokenNotFound(name, records);
    requireRotatable(old, now);
    const there = textThere(folders, name);
    const known = [old, ...(own === undefined ? [] : [own])];
    if (there !== null && fateOf(known, name, sha256(there)) === null) throw unknownFile(folders, name);
    const expires = until === undefined ? old.expires : until;
    requireFuture(name, expires, now);
    const text = newTokenText(name);
    const at = new Date(now).toISOString();
    const former = historyAfter(old, { ended: 'rotated', at });
    made = { text, record: recordOf({ ...old, expires, former }, text) };
    writeFileDurably(nextTokenPath(folders.tokens, name), `${text}\n`);
    crashPoint('token.rotation.text_kept');
    return [...records.filter((record) => record.name !== name), made.record];
  });
  return { ...made!, path: tokenPath(folders.tokens, name) };
}

/** @throws Conflict (`token_not_in_force`) */
export function requireRotatable(token: TokenRecord, now: number): void {
  if (inForce(token, now)) return;
  const { name, revoked, expires, scopes: allowed } = token;
  const how = revoked === null ? `expired at ${expires}` : `was revoked at ${revoked}`;
  throw new Conflict('token_not_in_force', `token ${name} ${how}: only a token in force can be rotated`, {
    hint: `./core token create ${name} --scopes ${allowed.join(',')} makes a new one${revoked === null ? '' : '. Approvals of the revoked one do not count with it'}.`,
  });
}

/** @param host where it was made, where several share the registry */
export function tokenExists(name: string, host?: string): Conflict {
  const where = host === undefined ? '' : `, made on ${host}`;
  return new Conflict('token_exists', `token ${name} exists already${where}`, {
    hint: `./core token rotate ${name} gives it a new text and keeps its approvals. To take it away from its owner: ./core token revoke ${name}; its approvals then no longer count, also if you create ${name} again.`,
  });
}

export function revokeToken(folders: TokenFolders, name: string): TokenRecord {
  let revoked: TokenRecord | undefined;
  change(folders, (records) => {
    const found = records.find((record) => record.name === name);
    if (found === undefined) throw tokenNotFound(name, records);
    revoked = { ...found, revoked: found.revoked ?? new Date().toISOString() };
    return records.map((record) => (record === found ? revoked! : record));
  });
  rmSync(tokenPath(folders.tokens, name), { force: true });
  return revoked!;
}

/** Revokes this very token, also where another one of its name has been made meanwhile. */
export function revokeTokenOf(folders: TokenFolders, { name, sha256: digest }: TokenRecord): void {
  let changed = false;
  change(folders, (records) => {
    const found = records.find((record) => record.sha256 === digest && record.revoked === null);
    if (found === undefined) return records;
    changed = true;
    return records.map((one) => (one === found ? { ...one, revoked: new Date().toISOString() } : one));
  });
  if (changed && textDigest(folders, name) === digest)
    rmSync(tokenPath(folders.tokens, name), { force: true });
}

function textDigest(folders: TokenFolders, name: string): string | null {
  const text = readTokenFile(tokenPath(folders.tokens, name));
  return text === null ? null : sha256(text);
}

export function tokenNotFound(name: string, records: readonly TokenRecord[]): NotFound {
  const names = [...new Set(records.map((record) => record.name))].join(', ') || 'none';
  return new NotFound('token_not_found', `there is no token ${JSON.stringify(name)}; known are ${names}`);
}

/**
 * The token that a command line of this person uses, with the name that it signs with. Made at first use. In a folder without the
 * token of the one who owns the installation, it is the only named one that is there: that of somebody else who works with it.
 */
export function ownToken(folders: TokenFolders): Identity & { readonly text: string } {
  ensureTokens(folders);
  const records = readRegistry(registryOf(folders))?.records ?? [];
  const colleague = colleagueToken(folders, records);
  if (colleague !== null) return colleague;
  const record = records.find(({ kind }) => kind === 'person');
  const text = record === undefined ? null : readTokenFile(tokenPath(folders.tokens, record.name));
  if (record === undefined || text === null || !inForce(record, Date.now())) {
    const name = record?.name ?? personName(systemUser());
    const inUse = record !== undefined && inForce(record, Date.now());
    throw new NotFound(
      'token_missing',
      `this installation has no token in force in ${tokenPath(folders.tokens, name)}`,
      {
        hint: inUse
          ? `./core token rotate ${name} writes a new one into this file and keeps its approvals.`
          : `./core token create ${name} --scopes ${scopes.join(',')}`,
      },
    );
  }
  return { name: record.name, scopes: record.scopes, token: record.sha256, text };
}

function colleagueToken(
  { tokens }: TokenFolders,
  records: readonly TokenRecord[],
): (Identity & { readonly text: string }) | null {
  const there = records.flatMap((record) => {
    const text = readTokenFile(tokenPath(tokens, record.name));
    return text === null ? [] : [{ ...record, text }];
  });
  const named = there.filter(({ kind }) => kind === 'named');
  const [own] = named;
  if (own === undefined || named.length > 1 || there.some(({ kind }) => kind === 'person')) return null;
  // Whoever only knows the name is not that person.
  if (sha256(own.text) !== own.sha256 || !inForce(own, Date.now())) return null;
  return { name: own.name, scopes: own.scopes, token: own.sha256, text: own.text };
}

/**
 * Text of the one service token whose file is there, as in a service's container; otherwise of the person's token.
 * @throws NotFound (`token_missing`)
 */
export function tokenAtHand(folders: TokenFolders): string {
  const parts = serviceTokens.filter(({ name }) => readTokenFile(tokenPath(folders.tokens, name)) !== null);
  const [alone] = parts;
  return parts.length === 1 && alone !== undefined
    ? serviceToken(folders, alone.name)
    : ownToken(folders).text;
}

/** Text of the token of a part of Core. Made at first use. @throws NotFound (`token_missing`) */
export function serviceToken(folders: TokenFolders, name: ServiceToken): string {
  ensureTokens(folders);
  const record = readRegistry(registryOf(folders))?.records.find((token) => token.name === name);
  const path = tokenPath(folders.tokens, name);
  const text = readTokenFile(path);
  if (record !== undefined && text !== null && inForce(record, Date.now())) return text;
  const wanted = serviceTokens.find((token) => token.name === name)!.scopes.join(',');
  const inUse = record !== undefined && inForce(record, Date.now());
  throw new NotFound('token_missing', `this installation has no token in force in ${path}`, {
    hint: inUse ? `./core token rotate ${name}` : `./core token create ${name} --scopes ${wanted}`,
  });
}

function change(
  folders: TokenFolders,
  next: (records: readonly TokenRecord[]) => readonly TokenRecord[],
): void {
  const registry = registryOf(folders);
  prepareFolder(registry, 'config');
  prepareFolder(folders.tokens, 'config');
  withFileLock(join(registry, '.lock'), () => {
    const before = readRegistry(registry)?.records ?? [];
    finishRotations(folders, before);
    const after = next(before);
    if (after === before) return;
    writeRegistry(registry, after);
    crashPoint('token.registered');
    finishRotations(folders, after);
  });
}

/** Texts of rotations that the registry has go into their tokens' files; the others were never registered. */
function finishRotations({ tokens }: TokenFolders, records: readonly TokenRecord[]): void {
  const names = namesOfNextTokens(tokens);
  for (const name of names) {
    const path = nextTokenPath(tokens, name);
    const text = readTokenFile(path);
    const known = text !== null && records.some((record) => record.sha256 === sha256(text));
    if (known) renameSync(path, tokenPath(tokens, name));
    else rmSync(path, { force: true });
  }
  if (names.length > 0) syncFolder(tokens);
}

/** Text of a token in its file, whoever knows it. @throws Conflict (`token_file_unknown`) for another text */
function textThere(folders: TokenFolders, name: string): string | null {
  const text = readTokenFile(tokenPath(folders.tokens, name));
  if (text === null || isTokenText(text, name)) return text;
  throw unknownFile(folders, name);
}

function unknownFile(folders: TokenFolders, name: string): Conflict {
  const path = tokenPath(folders.tokens, name);
  return new Conflict(
    'token_file_unknown',
    `${path} holds a token that ${registryOf(folders)} does not know: must be one that was made with it, or not be there`,
    {
      facts: { path },
      hint: 'Set CORE_REGISTRY_DIR to the folder of its registry.json, or move the file away.',
    },
  );
}

/** Tokens beside those of a first start were made with a registry that is elsewhere. */
function refuseForeignTokens(folders: TokenFolders, names: readonly string[]): void {
  const others = namesOfTokenFiles(folders.tokens).filter((name) => !names.includes(name));
  if (others.length === 0) return;
  throw new Conflict(
    'token_registry_missing',
    `${folders.tokens} holds tokens (${others.join(', ')}), and no registry.json in ${registryOf(folders)} knows them`,
    {
      facts: { folder: folders.tokens },
      hint: 'Set CORE_REGISTRY_DIR to the folder of the registry.json that they were made with; for the containers of compose.yaml that is secrets/registry.',
    },
  );
}

/** The file comes first: a crash before the registry leaves a text that the next start takes over. @param text of its file */
function makeToken(
  folders: TokenFolders,
  token: TokenFacts,
  text: string = newTokenText(token.name),
): { record: TokenRecord; text: string } {
  const path = tokenPath(folders.tokens, token.name);
  if (readTokenFile(path) !== text) writeFileDurably(path, `${text}\n`);
  return { record: recordOf(token, text), text };
}

type TokenFacts = Pick<TokenRecord, 'name' | 'kind' | 'expires' | 'former'> & {
  readonly scopes: readonly Scope[];
};

function recordOf({ name, kind, scopes: allowed, expires, former }: TokenFacts, text: string): TokenRecord {
  return {
    name,
    kind,
    scopes: [...allowed],
    sha256: sha256(text),
    created: new Date().toISOString(),
    expires,
    revoked: null,
    former,
  };
}

function personName(person: string): string {
  const name = tokenNameFor(person);
  return serviceTokens.some((token) => token.name === name) ? `${name}-person` : name;
}

/** Users of containers may have a number and no name. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return 'person';
  }
}

import { hostname } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { guarded } from '../callbacks.ts';
import type { PostgresSettings } from '../config/storage.ts';
import { openPostgres } from '../database/postgres.ts';
import { sha256 } from '../digest.ts';
import { codeOf, messageOf, NotFound, Unavailable } from '../errors.ts';
import { type Moment, momentIn, msUntil } from '../moment.ts';
import { registryOf, type TokenFolders, tokensOf } from './check-tokens.ts';
import { changeRecords, lookAtRecords } from './postgres-records.ts';
import type { RevokedToken, TokenRegistry } from './registry.ts';
import { joinRecords } from './shared-records.ts';
import { inForce, type TokenRecord } from './token.ts';
import { readRegistry, readTokenFile, registryVersion, tokenPath } from './token-files.ts';
import {
  createToken,
  type MadeToken,
  type NewToken,
  type RotateToken,
  requireRotatable,
  revokeTokenOf,
  rotateToken,
  tokenExists,
  tokenNotFound,
} from './tokens.ts';

/** Milliseconds between two looks at the database: a notification would need a connection more, and PgBouncer passes none on. */
const lookMs = 500;
/** Milliseconds between two looks for tokens that are not known. */
const lookUpMs = 50;
/** What was last seen longer ago than this, in milliseconds, decides nothing. */
const staleMs = 5_000;

export interface SharedOptions {
  readonly host?: string;
  readonly warn?: (message: string) => void;
}

/**
 * Tokens of several hosts, followed in a database. Each host's registry.json lists the tokens whose texts that host made; they are
 * registered here, and what is revoked here is revoked there.
 * @throws Failed (`database_refused`, `database_not_trusted`, `database_newer` …)
 */
export async function openPostgresTokens(
  folders: TokenFolders,
  settings: PostgresSettings,
  { host = hostname(), warn = () => {} }: SharedOptions = {},
): Promise<TokenRegistry> {
  // A query that waits for an answer that never comes must not keep the next one waiting for long.
  const seconds = Math.min(settings.statement_seconds, staleMs / 1000);
  const database = openPostgres({ ...settings, connections: 1, statement_seconds: seconds }, 'core-tokens', {
    pool: 'tokens',
  });
  let version: string | null = null;
  let records: readonly TokenRecord[] = [];
  /** When the database was asked last with success, by this process's clock, until when that decides, and what its own clock said. */
  let seen: { readonly at: number; readonly until: Moment; readonly clock: number } | null = null;
  let problem: unknown = null;
  let joined = '';
  let warned = '';
  let working: Promise<void> = Promise.resolve();
  let asked: Promise<void> | null = null;
  let waiting = 0;

  const tokens = tokensOf(current, () => clock());
  try {
    await turn(follow);
  } catch (error) {
    if (!(error instanceof Unavailable)) {
      await database.close();
      throw error;
    }
  }
  const timer = setInterval(
    guarded('the registry of tokens', () => {
      if (waiting === 0) turn(follow).catch(() => {});
    }),
    lookMs,
  ).unref();
  return { ...tokens, lookUp, fresh, shared: database.name, create, rotate, revoke, close };

  function isFresh(): boolean {
    return seen !== null && msUntil(seen.until) >= 0;
  }

  /** The next look comes by itself, and another one where the connection did not outlive a pause. */
  async function fresh(): Promise<void> {
    const end = performance.now() + staleMs;
    while (!isFresh() && performance.now() < end) await setTimeout(lookUpMs);
  }

  function current(): readonly TokenRecord[] {
    if (isFresh()) return records;
    const since = seen === null ? '' : ` for ${Math.round((performance.now() - seen.at) / 1000)} s`;
    throw new Unavailable(
      'database_unavailable',
      `tokens cannot be checked${since}: ${problem === null ? `${database.name} does not answer` : messageOf(problem)}`,
      {
        cause: problem,
        retryAfter: 5,
        hint: 'A token may have been revoked meanwhile, so that none opens anything. Core goes on by itself when the database answers.',
      },
    );
  }

  /** A token may have been made since the last look, here or elsewhere. All who ask meanwhile share one look, so that wrong tokens cost little. */
  function lookUp(text: string): Promise<void> | null {
    if (seen === null || !/^core_.+_[0-9a-f]{48}$/.test(text) || isKnown(text)) return null;
    asked ??= setTimeout(Math.max(0, seen.at + lookUpMs - performance.now()))
      .then(() => turn(follow))
      .finally(() => (asked = null));
    return asked;
  }

  function clock(): number {
    return seen === null ? Date.now() : seen.clock + (performance.now() - seen.at);
  }

  /** One after another, so that nothing older is taken for newer. */
  function turn<T>(work: () => Promise<T>): Promise<T> {
    waiting += 1;
    const result = working.then(work).finally(() => (waiting -= 1));
    working = result.then(
      () => {},
      () => {},
    );
    return result;
  }

  async function follow(): Promise<void> {
    try {
      await look();
      await exchange();
      problem = null;
    } catch (error) {
      if (problem === null) warn(`tokens: ${messageOf(error)}`);
      problem = error;
      throw error;
    }
  }

  async function look(): Promise<void> {
    const at = performance.now();
    const until = momentIn(staleMs);
    const found = await lookAtRecords(database, version);
    seen = { at, until, clock: found.now };
    version = found.version;
    records = found.records ?? records;
  }

  /** Registers what this host's registry.json lists and the database does not know, and revokes there what is revoked here. */
  async function exchange(): Promise<void> {
    const folder = registryOf(folders);
    const state = `${version} ${registryVersion(folder)}`;
    if (state === joined) return;
    const own = readRegistry(folder)?.records ?? [];
    const wanted = joinRecords(records, own, host).records;
    if (wanted.length > records.length || wanted.some((record, at) => record !== records[at])) {
      await changeRecords(database, (all) => joinRecords(all, own, host).records);
      await look();
    }
    const { refused, ended } = joinRecords(records, own, host);
    for (const record of ended) revokeHere(record);
    report(refused);
    joined = `${version} ${registryVersion(folder)}`;
  }

  /** Whoever only reads its registry, as a container does, leaves it as it is: the database decides. */
  function revokeHere(record: TokenRecord): void {
    try {
      revokeTokenOf(folders, record);
    } catch (error) {
      if (codeOf(error) !== 'config_not_writable') throw error;
    }
  }

  function report(refused: readonly TokenRecord[]): void {
    const names = refused
      .map(({ name }) => name)
      .filter((name) => !isKnown(readTokenFile(tokenPath(folders.tokens, name))))
      .join(', ');
    if (names !== '' && names !== warned)
      warn(
        `tokens not registered, because ${database.name} has others of these names: ${names}. Copy their files from the host that made them into ${folders.tokens}, or make tokens of other names: ./core token create`,
      );
    warned = names;
  }

  function isRegistered({ sha256 }: TokenRecord): boolean {
    return records.some((record) => record.sha256 === sha256);
  }

  function isKnown(text: string | null): boolean {
    return text !== null && records.some((record) => record.sha256 === sha256(text));
  }

  async function create(token: NewToken): Promise<MadeToken> {
    return turn(async () => {
      await follow();
      let made: MadeToken | undefined;
      try {
        await changeRecords(database, (all, now) => {
          const old = all.find(({ name, kind }) => name === token.name && kind !== 'service');
          if (old !== undefined && inForce(old, now)) throw tokenExists(token.name, old.host);
          made = createToken(folders, token, now, old);
          return [...all.filter((record) => record !== old), { ...made.record, host }];
        });
        await follow();
      } catch (error) {
        // It is in registry.json: the next look would register it, although its creation is reported as failed.
        if (made !== undefined) revokeHere(made.record);
        throw error;
      }
      return made!;
    });
  }

  /** Of a service, this host's. What is in registry.json when the database fails is registered by the next look. */
  async function rotate(token: RotateToken): Promise<MadeToken> {
    const { name } = token;
    return turn(async () => {
      await follow();
      const own = readRegistry(registryOf(folders))?.records ?? [];
      let made: MadeToken | undefined;
      await changeRecords(database, (all, now) => {
        if (made !== undefined) return joinRecords(all, [made.record], host).records;
        const named = all.filter((record) => record.name === name);
        if (named.length === 0) throw tokenNotFound(name, all);
        const old = named.find(
          ({ kind, sha256 }) => kind !== 'service' || own.some((record) => record.sha256 === sha256),
        );
        if (old === undefined) throw notOfHost(name, host, named);
        requireRotatable(old, now);
        made = rotateToken(folders, token, now, old);
        const next = { ...made.record, host };
        return all.map((record) => (record === old ? next : record));
      });
      await follow();
      return made!;
    });
  }

  async function revoke(name: string, from?: string): Promise<RevokedToken> {
    return turn(async () => {
      await follow();
      const own = readRegistry(registryOf(folders))?.records ?? [];
      const isOwn = ({ sha256 }: TokenRecord) => own.some((record) => record.sha256 === sha256);
      let ended: TokenRecord | undefined;
      await changeRecords(database, (all, now) => {
        const named = all.filter((record) => record.name === name);
        if (named.length === 0) throw tokenNotFound(name, all);
        const isMeant = (record: TokenRecord) =>
          from === undefined ? record.kind !== 'service' || isOwn(record) : record.host === from;
        const meant = named.filter(isMeant);
        if (meant.length === 0) throw notOfHost(name, from ?? host, named);
        const at = new Date(now).toISOString();
        const after = all.map((record) =>
          meant.includes(record) && record.revoked === null ? { ...record, revoked: at } : record,
        );
        ended = after.findLast((record) => record.name === name && isMeant(record));
        return after;
      });
      await follow();
      // One of this host that was never registered, because of the other of that name.
      for (const record of own) if (record.name === name && !isRegistered(record)) revokeHere(record);
      const elsewhere = records.filter((record) => record.name === name && inForce(record, clock()));
      return { record: ended!, elsewhere: elsewhere.map((record) => record.host ?? '') };
    });
  }

  async function close(): Promise<void> {
    clearInterval(timer);
    await working;
    await database.close();
  }
}

function notOfHost(name: string, host: string, named: readonly TokenRecord[]): NotFound {
  const hosts = [...new Set(named.map((record) => record.host))].join(', ');
  return new NotFound(
    'token_not_found',
    `there is no token ${name} of host ${JSON.stringify(host)}; there are of ${hosts}`,
    {
      hint: `./core token revoke ${name} --host HOST`,
    },
  );
}

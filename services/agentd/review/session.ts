import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as t from 'io-ts';
import { Account, accountName, identityKey } from '#kit/contracts/account.ts';
import { decodeJson, Sha256, Timestamp } from '#kit/decode.ts';
import { sha256 } from '#kit/digest.ts';
import { makePrivateFolder, writeFileDurably } from '#kit/durable-file.ts';
import { CoreError, codeOf, NotFound, Unauthorized } from '#kit/errors.ts';
import { inForce } from '#kit/tokens/token.ts';
import type { Identity, Scope, Tokens } from '#kit/tokens/tokens.ts';

/** Milliseconds from signing in by a link until it must be done again. */
export const sessionMs = 12 * 3_600_000;
/** Milliseconds in which a link can be used. */
const linkMs = 5 * 60_000;
const maxSessions = 1_000;
const maxLinks = 100;

/** A token of this installation, by name and digest, so that another one that is later made under the name is not it. */
const TokenOwner = t.strict({ kind: t.literal('token'), name: t.string, sha256: Sha256 });

/** Somebody whom the identity provider signed in, with what people call them and the groups that they had then. */
const AccountOwner = t.strict({
  kind: t.literal('account'),
  account: Account,
  shown: t.string,
  groups: t.array(t.string),
});
export type AccountOwner = t.TypeOf<typeof AccountOwner>;

/** Whose session it is. */
const SessionOwner = t.union([TokenOwner, AccountOwner]);
export type SessionOwner = t.TypeOf<typeof SessionOwner>;

const Session = t.strict({
  /** Of the text in the cookie, which is kept nowhere. */
  sha256: Sha256,
  owner: SessionOwner,
  created: Timestamp,
  expires: Timestamp,
});
type Session = t.TypeOf<typeof Session>;
const SessionFile = t.strict({ sessions: t.array(Session) });

interface Link {
  readonly owner: SessionOwner;
  readonly expires: number;
  /** Digest of the text that the first browser got which opened it; null before one did. */
  browser: string | null;
}

export interface SessionsOptions {
  readonly stateDir: string;
  readonly tokens: Tokens;
  /** What an account of these groups may do now; nothing where it may not sign in any more. */
  readonly accountScopes?: (account: Account, groups: readonly string[]) => readonly Scope[];
  readonly now?: () => number;
}

/** A session that is in force, without what would sign in. */
export interface OpenSession {
  readonly id: string;
  readonly owner: SessionOwner;
  readonly identity: Identity;
  readonly created: string;
  readonly expires: string;
}

/** Who is signed in to the review page. Sessions outlive the daemon, as digests in a file; links that were not used do not. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #now: () => number;
  /** By the digest of its code. */
  readonly #links = new Map<string, Link>();
  #sessions: readonly Session[] | null = null;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** The owner of the sessions that a token begins. */
  ownerOf({ name }: Pick<Identity, 'name'>): SessionOwner {
    const record = this.#options.tokens.list().find((token) => token.name === name);
    if (record === undefined) throw new Unauthorized('token_invalid', `there is no token ${name}`);
    return { kind: 'token', name, sha256: record.sha256 };
  }

  /** A code that signs in once. */
  link(owner: SessionOwner): { readonly code: string; readonly expires_at: string } {
    const now = this.#now();
    for (const [key, { expires }] of this.#links) if (expires <= now) this.#links.delete(key);
    // The oldest goes: whoever makes that many has no use for it.
    for (const key of this.#links.keys()) if (this.#links.size >= maxLinks) this.#links.delete(key);
    const code = newSecret();
    const expires = now + linkMs;
    this.#links.set(sha256(code), { owner, expires, browser: null });
    return { code, expires_at: new Date(expires).toISOString() };
  }

  /**
   * Who would be signed in by this code. The first browser that opens it is the only one that can use it: others on the machine may
   * see the link in the list of its processes.
   * @param browser the text that this browser got when it opened the link before; null where it has none
   * @returns null where the code is unknown, used, too old, or of another browser
   */
  openLink(
    code: string,
    browser: string | null,
  ): { readonly identity: Identity; readonly browser: string } | null {
    const link = this.#links.get(sha256(code));
    if (link === undefined || link.expires <= this.#now()) return null;
    const identity = this.#identityOf(link.owner);
    if (identity === null) return null;
    if (browser !== null && link.browser === sha256(browser)) return { identity, browser };
    if (link.browser !== null) return null;
    const text = newSecret();
    link.browser = sha256(text);
    return { identity, browser: text };
  }

  /**
   * Uses up the code, and ends the session that the browser had.
   * @returns the text for the cookie, or null where it signs nobody in from this browser
   */
  signIn(code: string, browser: string | null, before: string | null = null): string | null {
    const link = this.#links.get(sha256(code));
    if (browser === null || link?.browser !== sha256(browser)) return null;
    const opened = this.openLink(code, browser);
    this.#links.delete(sha256(code));
    return opened === null ? null : this.begin(link.owner, sessionMs, before);
  }

  /** @param ms how long it lasts @param before text of a session that it takes the place of @returns the text for the cookie */
  begin(owner: SessionOwner, ms = sessionMs, before: string | null = null): string {
    const text = newSecret();
    const now = this.#now();
    const session: Session = {
      sha256: sha256(text),
      owner,
      created: new Date(now).toISOString(),
      expires: new Date(now + ms).toISOString(),
    };
    const ended = before === null ? null : sha256(before);
    const kept = this.#current().filter((one) => Date.parse(one.expires) > now && one.sha256 !== ended);
    this.#write([...kept, session].slice(-maxSessions));
    return text;
  }

  /** Who has this session; null once it has expired or was ended, or its owner may not sign in any more. */
  identity(text: string): Identity | null {
    const digest = sha256(text);
    const session = this.#current().find((one) => one.sha256 === digest);
    if (session === undefined || Date.parse(session.expires) <= this.#now()) return null;
    return this.#identityOf(session.owner);
  }

  end(text: string): void {
    const digest = sha256(text);
    this.#write(this.#current().filter((one) => one.sha256 !== digest));
  }

  /** Those in force, the oldest first. */
  list(): OpenSession[] {
    return this.#current().flatMap((session) => {
      const { owner, created, expires } = session;
      const identity = Date.parse(expires) > this.#now() ? this.#identityOf(owner) : null;
      return identity === null ? [] : [{ id: idOf(session), owner, identity, created, expires }];
    });
  }

  /** Ends one of `list`. @throws NotFound (`session_not_found`) */
  revoke(id: string): void {
    const left = this.#current().filter((one) => idOf(one) !== id);
    if (left.length === this.#current().length) throw sessionNotFound(id);
    this.#write(left);
  }

  /** Ends every session and link of whoever has this name. @returns how many sessions */
  endAll(name: string): number {
    const isTheirs = ({ owner }: { readonly owner: SessionOwner }) =>
      identityKey(nameOf(owner)) === identityKey(name);
    for (const [code, link] of this.#links) if (isTheirs(link)) this.#links.delete(code);
    const before = this.#current();
    const left = before.filter((one) => !isTheirs(one));
    if (left.length < before.length) this.#write(left);
    return before.length - left.length;
  }

  #identityOf(owner: SessionOwner): Identity | null {
    if (owner.kind === 'account') {
      const { account, groups } = owner;
      const scopes = this.#options.accountScopes?.(account, groups) ?? [];
      return scopes.length === 0 ? null : { name: nameOf(owner), scopes, providerAccount: account };
    }
    const record = this.#options.tokens
      .list()
      .find(({ name, sha256 }) => name === owner.name && sha256 === owner.sha256);
    if (record === undefined || !inForce(record, this.#options.tokens.now())) return null;
    return { name: record.name, scopes: record.scopes };
  }

  #current(): readonly Session[] {
    this.#sessions ??= readSessions(this.#path);
    return this.#sessions;
  }

  #write(sessions: readonly Session[]): void {
    makePrivateFolder(this.#options.stateDir);
    writeFileDurably(this.#path, `${JSON.stringify({ sessions }, null, 2)}\n`);
    this.#sessions = sessions;
  }

  get #path(): string {
    return join(this.#options.stateDir, 'review-sessions.json');
  }
}

/** What the record calls the owner. */
function nameOf(owner: SessionOwner): string {
  return owner.kind === 'token' ? owner.name : accountName(owner.account, owner.shown);
}

/** Of a digest, so that it says nothing about the text. */
function idOf({ sha256: digest }: Pick<Session, 'sha256'>): string {
  return digest.slice(0, 12);
}

export function sessionNotFound(id: string): NotFound {
  return new NotFound('session_not_found', `there is no session ${JSON.stringify(id)} of yours`, {
    hint: './core session list shows them.',
  });
}

/** 256 random bits. */
function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** A file that is gone or damaged holds no session: everybody signs in again. */
function readSessions(path: string): readonly Session[] {
  try {
    return decodeJson(SessionFile, readFileSync(path, 'utf8'), path).sessions;
  } catch (error) {
    if (error instanceof CoreError || codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

import { randomBytes } from 'node:crypto';
import type { Account } from '#kit/contracts/account.ts';
import { sha256 } from '#kit/digest.ts';
import { NotFound, Unauthorized } from '#kit/errors.ts';
import { identityKey } from '#kit/identity-name.ts';
import { inForce } from '#kit/tokens/token.ts';
import type { Identity, Scope, Tokens } from '#kit/tokens/tokens.ts';
import { ownerName, type SessionOwner } from './session-owner.ts';
import type { Session, SignInStore } from './sign-in-store.ts';

/** Milliseconds from signing in by a link until it must be done again. */
export const sessionMs = 12 * 3_600_000;
/** Milliseconds in which a link can be used. */
const linkMs = 5 * 60_000;

export interface SessionsOptions {
  readonly store: SignInStore;
  readonly tokens: Tokens;
  /** What an account of these groups may do now; nothing where it may not sign in any more. */
  readonly accountScopes?: (account: Account, groups: readonly string[]) => readonly Scope[];
}

/** A session that is in force, without what would sign in. */
export interface OpenSession {
  readonly id: string;
  readonly owner: SessionOwner;
  readonly identity: Identity;
  readonly created: string;
  readonly expires: string;
}

/** Who is signed in to the review page. */
export class Sessions {
  readonly #options: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** The owner of the sessions that a token begins. */
  ownerOf({ name, token }: Pick<Identity, 'name' | 'token'>): SessionOwner {
    if (token === undefined) throw new Unauthorized('token_invalid', `${name} is not a token`);
    return { kind: 'token', name, sha256: token };
  }

  /** A code that signs in once. */
  async link(owner: SessionOwner): Promise<{ readonly code: string; readonly expires_at: string }> {
    const code = newSecret();
    return { code, expires_at: await this.#store.addLink(sha256(code), owner, linkMs) };
  }

  /**
   * Who would be signed in by this code. The first browser that opens it is the only one that can use it: others on the machine may
   * see the link in the list of its processes.
   * @param browser the text that this browser got when it opened the link before; null where it has none
   * @returns null where the code is unknown, used, too old, or of another browser
   */
  async openLink(
    code: string,
    browser: string | null,
  ): Promise<{ readonly identity: Identity; readonly browser: string } | null> {
    const link = await this.#store.link(sha256(code));
    const identity = link === null ? null : this.#identityOf(link.owner);
    if (identity === null) return null;
    const isBack = browser !== null && link?.browser === sha256(browser);
    const text = isBack ? browser : newSecret();
    return (await this.#store.giveLink(sha256(code), sha256(text))) ? { identity, browser: text } : null;
  }

  /**
   * Uses up the code, and ends the session that the browser had.
   * @returns the text for the cookie, or null where it signs nobody in from this browser
   */
  async signIn(code: string, browser: string | null, before: string | null = null): Promise<string | null> {
    const link = await this.#store.link(sha256(code));
    if (browser === null || link === null || this.#identityOf(link.owner) === null) return null;
    const used = { sha256: sha256(code), browser: sha256(browser) };
    const text = newSecret();
    const instead = { link: used, session: sessionDigest(before) };
    return (await this.#store.begin(sha256(text), link.owner, sessionMs, instead)) ? text : null;
  }

  /** @param ms how long it lasts @param before digest of a session that it takes the place of @returns the text for the cookie */
  async begin(owner: SessionOwner, ms = sessionMs, before: string | null = null): Promise<string> {
    const text = newSecret();
    await this.#store.begin(sha256(text), owner, ms, { link: null, session: before });
    return text;
  }

  /** Who has this session; null once it has expired or was ended, or its owner may not sign in any more. */
  async identity(text: string): Promise<Identity | null> {
    const session = await this.#store.session(sha256(text));
    return session === null ? null : this.#identityOf(session.owner);
  }

  async end(text: string): Promise<void> {
    await this.#store.end(sha256(text));
  }

  /** Those in force, the oldest first. */
  async list(): Promise<OpenSession[]> {
    return (await this.#store.sessions()).flatMap((session) => {
      const { owner, created, expires } = session;
      const identity = this.#identityOf(owner);
      return identity === null ? [] : [{ id: idOf(session), owner, identity, created, expires }];
    });
  }

  /** Ends one of `list`. @throws NotFound (`session_not_found`) */
  async revoke(id: string): Promise<void> {
    const session = (await this.#store.sessions()).find((one) => idOf(one) === id);
    if (session === undefined || !(await this.#store.end(session.sha256))) throw sessionNotFound(id);
  }

  /** Ends every session and link of whoever has this name. @returns how many sessions */
  endAll(name: string): Promise<number> {
    return this.#store.endAll(identityKey(name));
  }

  get #store(): SignInStore {
    return this.#options.store;
  }

  #identityOf(owner: SessionOwner): Identity | null {
    if (owner.kind === 'account') {
      const { account, groups } = owner;
      const scopes = this.#options.accountScopes?.(account, groups) ?? [];
      return scopes.length === 0 ? null : { name: ownerName(owner), scopes, providerAccount: account };
    }
    const record = this.#options.tokens
      .list()
      .find(({ name, sha256 }) => name === owner.name && sha256 === owner.sha256);
    if (record === undefined || !inForce(record, this.#options.tokens.now())) return null;
    return { name: record.name, scopes: record.scopes, token: record.sha256 };
  }
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

/** 256 random bits; as a PKCE verifier it has the 43 characters that RFC 7636 asks for. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Of the text in a cookie. */
export function sessionDigest(text: string | null): string | null {
  return text === null ? null : sha256(text);
}

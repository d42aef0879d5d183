import { join } from 'node:path';
import * as t from 'io-ts';
import { decodeJson } from '#kit/decode.ts';
import { makePrivateFolder, writeFileDurably } from '#kit/durable-file.ts';
import { CoreError, codeOf } from '#kit/errors.ts';
import { readSmallFile } from '#kit/small-file.ts';
import { ownerKey, type SessionOwner } from './session-owner.ts';
import {
  type Attempt,
  limits,
  Session,
  type SignInInstead,
  type SignInLink,
  type SignInStore,
} from './sign-in-store.ts';

/** In the state folder. */
export const sessionsName = 'review-sessions.json';

const SessionFile = t.strict({ sessions: t.array(Session) });

interface KeptLink extends SignInLink {
  readonly expires: number;
}

interface KeptAttempt {
  readonly attempt: Attempt;
  readonly browser: string;
  readonly expires: number;
}

/** Of one daemon: sessions are in a file and outlive it; links and sign-ins under way do not. */
export class FileSignInStore implements SignInStore {
  readonly #state: string;
  readonly #now: () => number;
  readonly #links = new Map<string, KeptLink>();
  readonly #attempts = new Map<string, KeptAttempt>();
  #sessions: readonly Session[] | null = null;

  constructor(state: string, now: () => number = Date.now) {
    this.#state = state;
    this.#now = now;
  }

  async addLink(sha256: string, owner: SessionOwner, ms: number): Promise<string> {
    const expires = this.#now() + ms;
    this.#keep(this.#links, sha256, { owner, browser: null, expires }, limits.links);
    return new Date(expires).toISOString();
  }

  async link(sha256: string): Promise<KeptLink | null> {
    return this.#current(this.#links, sha256);
  }

  async giveLink(sha256: string, browser: string): Promise<boolean> {
    const link = this.#current(this.#links, sha256);
    if (link?.browser === null) this.#links.set(sha256, { ...link, browser });
    return link !== null && (link.browser ?? browser) === browser;
  }

  async begin(
    sha256: string,
    owner: SessionOwner,
    ms: number,
    { link, session }: SignInInstead,
  ): Promise<boolean> {
    if (link !== null) {
      if (this.#current(this.#links, link.sha256)?.browser !== link.browser) return false;
      this.#links.delete(link.sha256);
    }
    const now = this.#now();
    const begun = {
      ...{ sha256, owner },
      created: new Date(now).toISOString(),
      expires: new Date(now + ms).toISOString(),
    };
    const kept = this.#inForce().filter((one) => one.sha256 !== session);
    this.#write([...kept, begun].slice(-limits.sessions));
    return true;
  }

  async session(sha256: string): Promise<Session | null> {
    return this.#inForce().find((one) => one.sha256 === sha256) ?? null;
  }

  async sessions(): Promise<readonly Session[]> {
    return this.#inForce();
  }

  async end(sha256: string): Promise<boolean> {
    return this.#endWhere((session) => session.sha256 === sha256) > 0;
  }

  async endAll(key: string): Promise<number> {
    for (const [sha256, { owner }] of this.#links) if (ownerKey(owner) === key) this.#links.delete(sha256);
    return this.#endWhere(({ owner }) => ownerKey(owner) === key);
  }

  async addAttempt(sha256: string, attempt: Attempt, browser: string, ms: number): Promise<void> {
    const expires = this.#now() + ms;
    this.#keep(this.#attempts, sha256, { attempt, browser, expires }, limits.attempts);
  }

  async hasAttempt(browser: string): Promise<boolean> {
    const now = this.#now();
    return [...this.#attempts.values()].some((kept) => kept.browser === browser && kept.expires > now);
  }

  async takeAttempt(sha256: string, browser: string): Promise<Attempt | null> {
    const kept = this.#current(this.#attempts, sha256);
    if (kept?.browser !== browser) return null;
    this.#attempts.delete(sha256);
    return kept.attempt;
  }

  async close(): Promise<void> {}

  #current<E extends { readonly expires: number }>(entries: Map<string, E>, sha256: string): E | null {
    const entry = entries.get(sha256);
    return entry !== undefined && entry.expires > this.#now() ? entry : null;
  }

  /** All of a kind last equally long, so that the oldest end first. */
  #keep<E extends { readonly expires: number }>(
    entries: Map<string, E>,
    sha256: string,
    entry: E,
    most: number,
  ): void {
    for (const [key, { expires }] of entries) {
      if (expires > this.#now() && entries.size < most) break;
      entries.delete(key);
    }
    entries.set(sha256, entry);
  }

  #inForce(): readonly Session[] {
    this.#sessions ??= readSessions(this.#path);
    const now = this.#now();
    return this.#sessions.filter(({ expires }) => Date.parse(expires) > now);
  }

  #endWhere(isMeant: (session: Session) => boolean): number {
    const before = this.#inForce();
    const left = before.filter((session) => !isMeant(session));
    if (left.length < before.length) this.#write(left);
    return before.length - left.length;
  }

  #write(sessions: readonly Session[]): void {
    makePrivateFolder(this.#state);
    writeFileDurably(this.#path, `${JSON.stringify({ sessions }, null, 2)}\n`);
    this.#sessions = sessions;
  }

  get #path(): string {
    return join(this.#state, sessionsName);
  }
}

/** A file that is gone or damaged holds no session: everybody signs in again. */
function readSessions(path: string): readonly Session[] {
  try {
    return decodeJson(SessionFile, readSmallFile(path), path).sessions;
  } catch (error) {
    if (error instanceof CoreError || codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

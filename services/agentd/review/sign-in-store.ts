import * as t from 'io-ts';
import { nullable, Sha256, Timestamp } from '#kit/decode.ts';
import { SessionOwner } from './session-owner.ts';

export const Session = t.strict({
  /** Of the text in the cookie, which is kept nowhere. */
  sha256: Sha256,
  owner: SessionOwner,
  created: Timestamp,
  expires: Timestamp,
});
export type Session = t.TypeOf<typeof Session>;

/** A link that was not used yet. */
export interface SignInLink {
  readonly owner: SessionOwner;
  /** Digest of the text that the first browser got which opened it; null before one did. */
  readonly browser: string | null;
}

/** A sign-in under way at the identity provider. */
export const Attempt = t.strict({
  nonce: t.string,
  verifier: t.string,
  /** The run whose page is shown then; null for the list. */
  run: nullable(t.string),
  /** Digest of the session that the browser had: coming back from another site, it does not say. */
  before: nullable(Sha256),
  /** Which configuration it was begun with. */
  issuer: t.string,
  client_id: t.string,
});
export type Attempt = t.TypeOf<typeof Attempt>;

/** What a session takes the place of. */
export interface SignInInstead {
  /** The link that is used up. */
  readonly link: { readonly sha256: string; readonly browser: string } | null;
  /** Digest of the session that the browser had. */
  readonly session: string | null;
}

/** At most so many are kept; the oldest go. */
export const limits = { sessions: 1_000, links: 100, attempts: 10_000 } as const;

/**
 * Who is signed in to the review page and who is about to be, by digests: texts that sign in are stored nowhere. All end by the clock
 * of the store; what has ended is not there.
 */
export interface SignInStore {
  /** @param ms until it ends @returns when that is */
  addLink(sha256: string, owner: SessionOwner, ms: number): Promise<string>;
  link(sha256: string): Promise<SignInLink | null>;
  /** Gives a link to the first browser. @returns whether it is this browser's */
  giveLink(sha256: string, browser: string): Promise<boolean>;

  /** All of it or nothing. @returns false where the link is not there, or another browser's */
  begin(sha256: string, owner: SessionOwner, ms: number, instead: SignInInstead): Promise<boolean>;
  session(sha256: string): Promise<Session | null>;
  /** The oldest first. */
  sessions(): Promise<readonly Session[]>;
  end(sha256: string): Promise<boolean>;
  /** Ends the sessions and links of the owner with this key. @returns how many sessions */
  endAll(key: string): Promise<number>;

  addAttempt(sha256: string, attempt: Attempt, browser: string, ms: number): Promise<void>;
  hasAttempt(browser: string): Promise<boolean>;
  /** Ends the attempt of this browser. */
  takeAttempt(sha256: string, browser: string): Promise<Attempt | null>;

  close(): Promise<void>;
}

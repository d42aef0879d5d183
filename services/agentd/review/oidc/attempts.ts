import { randomBytes } from 'node:crypto';
import { sha256 } from '#kit/digest.ts';

/** Milliseconds that somebody may take at the provider. */
const attemptMs = 10 * 60_000;
const maxAttempts = 10_000;

/** A sign-in under way at the provider. */
export interface Attempt {
  readonly nonce: string;
  readonly verifier: string;
  /** The run whose page is shown then; null for the list. */
  readonly run: string | null;
  /** Text of the session that the browser had; a browser that comes back from another site does not send it. */
  readonly before: string | null;
  /** Which configuration it was begun with. */
  readonly issuer: string;
  readonly client_id: string;
}

interface Kept extends Attempt {
  /** Digest of the text in the cookie of the browser that began it. */
  readonly browser: string;
  readonly expires: number;
}

/**
 * Sign-ins that were begun. Each belongs to the browser that began it, by a cookie, and ends once. They are lost with this process:
 * whoever was at the provider then begins again.
 */
export class SignInAttempts {
  readonly #now: () => number;
  /** By the digest of the state. */
  readonly #kept = new Map<string, Kept>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /**
   * @param browser the text that this browser got for another attempt; one that is not from here is not taken over
   * @returns `state` for the provider, `browser` for the cookie
   */
  begin(
    attempt: Omit<Attempt, 'nonce' | 'verifier'>,
    browser: string | null,
  ): { readonly attempt: Attempt; readonly state: string; readonly browser: string } {
    const now = this.#now();
    for (const [key, { expires }] of this.#kept) {
      if (expires > now && this.#kept.size < maxAttempts) break;
      this.#kept.delete(key);
    }
    const digest = browser === null ? null : sha256(browser);
    const isOurs = [...this.#kept.values()].some((kept) => kept.browser === digest);
    const text = isOurs ? browser! : newText();
    const begun: Attempt = { ...attempt, nonce: newText(), verifier: newText() };
    const state = newText();
    this.#kept.set(sha256(state), { ...begun, browser: sha256(text), expires: now + attemptMs });
    return { attempt: begun, state, browser: text };
  }

  /** Ends the attempt of this state and browser; null where there is none, or none any more. That of another browser stays. */
  end(state: string, browser: string | null): Attempt | null {
    const kept = this.#kept.get(sha256(state));
    if (browser === null || kept?.browser !== sha256(browser)) return null;
    this.#kept.delete(sha256(state));
    return kept.expires > this.#now() ? kept : null;
  }
}

/** 256 random bits; as a PKCE verifier it has the 43 characters that RFC 7636 asks for. */
function newText(): string {
  return randomBytes(32).toString('base64url');
}

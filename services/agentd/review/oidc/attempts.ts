import { sha256 } from '#kit/digest.ts';
import { newSecret } from '../session.ts';
import type { Attempt, SignInStore } from '../sign-in-store.ts';

/** Milliseconds that somebody may take at the provider. */
const attemptMs = 10 * 60_000;

/** Sign-ins that were begun. Each belongs to the browser that began it, by a cookie, and ends once. */
export class SignInAttempts {
  readonly #store: SignInStore;

  constructor(store: SignInStore) {
    this.#store = store;
  }

  /**
   * @param browser the text that this browser got for another attempt; one that is not from here is not taken over
   * @returns `state` for the provider, `browser` for the cookie
   */
  async begin(
    attempt: Omit<Attempt, 'nonce' | 'verifier'>,
    browser: string | null,
  ): Promise<{ readonly attempt: Attempt; readonly state: string; readonly browser: string }> {
    const isOurs = browser !== null && (await this.#store.hasAttempt(sha256(browser)));
    const text = isOurs ? browser : newSecret();
    const begun: Attempt = { ...attempt, nonce: newSecret(), verifier: newSecret() };
    const state = newSecret();
    await this.#store.addAttempt(sha256(state), begun, sha256(text), attemptMs);
    return { attempt: begun, state, browser: text };
  }

  /** Ends the attempt of this state and browser; null where there is none, or none any more. That of another browser stays. */
  async end(state: string, browser: string | null): Promise<Attempt | null> {
    return browser === null ? null : this.#store.takeAttempt(sha256(state), sha256(browser));
  }
}

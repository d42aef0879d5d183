import { setTimeout as pause } from 'node:timers/promises';
import type { HealthCheck } from '../contracts/health.ts';
import { CoreError, Forbidden, messageOf } from '../errors.ts';
import type { HttpClient } from '../http/client.ts';
import { ShownToken } from '../tokens/token.ts';
import type { Scope } from '../tokens/tokens.ts';

/** Asks something how it is. @returns a word for people, or more @throws where it is not well */
export type Question = (signal: AbortSignal) => Promise<string | HealthCheck>;

interface ProbeOptions {
  /** Milliseconds until no answer is one. */
  readonly timeoutMs: number;
  /** Milliseconds for which a good answer counts; a bad one is asked again sooner. */
  readonly everyMs?: number;
  /** Milliseconds that who looks waits for a new answer, at most. */
  readonly waitMs?: number;
  /** So long after it was made, in milliseconds, nobody waits for the first answer: services that start together are not there yet. */
  readonly startMs?: number;
  /**
   * The service can do nothing without what is asked: a bad answer is `failing`, no good one counts twice, and while one is awaited
   * the service is `degraded`, because who is busy is not dead.
   */
  readonly required?: boolean;
}

const badAnswerMs = 1_000;

/**
 * The last answer to a question about another service, for a health check that is asked often and has to answer soon. The question
 * is asked when somebody looks, one at a time.
 */
export class Probe {
  readonly #ask: Question;
  readonly #options: Required<ProbeOptions>;
  readonly #madeAt = performance.now();
  #last: { readonly at: number; readonly check: HealthCheck } | null = null;
  #asked: { readonly at: number; readonly answer: Promise<void> } | null = null;

  constructor(ask: Question, options: ProbeOptions) {
    const { timeoutMs, required = false, waitMs = 1_000 } = options;
    const { everyMs = required ? 0 : 10_000, startMs = required ? 0 : 5_000 } = options;
    this.#ask = ask;
    this.#options = { timeoutMs, everyMs, waitMs, startMs, required };
  }

  async check(): Promise<HealthCheck> {
    const { waitMs, startMs, required } = this.#options;
    if (this.#asked === null && this.#isOld())
      this.#asked = { at: performance.now(), answer: this.#answer() };
    const starts = this.#last === null && performance.now() - this.#madeAt < startMs;
    if (starts) return { status: 'ok', detail: 'not known yet: this service has just started' };
    if (this.#asked !== null) await within(waitMs, this.#asked.answer);
    if (this.#asked === null) return this.#last!.check;
    const late = `no answer yet, asked ${seconds(this.#asked.at)} s ago`;
    if (this.#last === null || (required && this.#last.check.status === 'ok'))
      return { status: 'degraded', detail: late };
    const { check, at } = this.#last;
    return { ...check, detail: `${check.detail} (${seconds(at)} s ago; ${late})` };
  }

  #isOld(): boolean {
    if (this.#last === null) return true;
    const { at, check } = this.#last;
    const { everyMs } = this.#options;
    return performance.now() - at > (check.status === 'ok' ? everyMs : Math.min(badAnswerMs, everyMs));
  }

  async #answer(): Promise<void> {
    const { timeoutMs, required } = this.#options;
    const limit = AbortSignal.timeout(timeoutMs);
    const late = new Promise<never>((_, reject) => {
      limit.addEventListener('abort', () => reject(new Error(`did not answer within ${timeoutMs / 1000} s`)));
    });
    let check: HealthCheck;
    try {
      const answer = await Promise.race([this.#ask(limit), late]);
      check = typeof answer === 'string' ? { status: 'ok', detail: answer, backlog: undefined } : answer;
    } catch (error) {
      const hint = error instanceof CoreError && error.hint !== undefined ? ` (${error.hint})` : '';
      const status = required ? 'failing' : 'degraded';
      check = { status, detail: `${messageOf(error)}${hint}`, backlog: undefined };
    }
    this.#last = { at: performance.now(), check };
    this.#asked = null;
  }
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  const over = new AbortController();
  await Promise.race([work, pause(ms, undefined, { signal: over.signal, ref: false }).catch(() => {})]);
  over.abort();
}

function seconds(since: number): number {
  return Math.round((performance.now() - since) / 1000);
}

/**
 * Whether another service answers, and lets the token of this one do what is needed there. Nothing behind it is asked.
 * @returns a word for people
 * @throws what the client throws, Forbidden (`scope_missing`)
 */
export async function takesToken(
  client: HttpClient,
  needed: readonly Scope[],
  signal: AbortSignal,
): Promise<string> {
  const { name, scopes } = await client.get('/v1/token', ShownToken, { signal });
  const missing = needed.filter((scope) => !scopes.includes(scope));
  if (missing.length === 0) return `answers, and takes the token ${name}`;
  throw new Forbidden(
    'scope_missing',
    `token ${name} has the scopes ${scopes.join(', ')}; this needs ${missing.join(', ')} too`,
    { hint: './core secrets init, or the next ./core up, adds scopes that are new.' },
  );
}

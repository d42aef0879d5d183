import { inBackground } from '#kit/callbacks.ts';
import type { GatewayConfig, UpstreamEntry } from '../configuration.ts';

/** How long, in milliseconds, an answer counts, and how long none does. */
const knownMs = 600_000;
const unknownMs = 30_000;
/** For an upstream to answer. */
const answerMs = 3_000;

/** How many tokens input and answer of a model have room in: the least of what is configured and what its upstreams say. */
export class ContextWindows {
  readonly #models: () => GatewayConfig['models'];
  readonly #ask: (entry: UpstreamEntry, signal: AbortSignal) => Promise<number | null>;
  readonly #answers = new Map<string, { readonly tokens: Promise<number | null>; until: number }>();

  /** @param ask gives null where the upstream does not say, and never throws */
  constructor(
    models: () => GatewayConfig['models'],
    ask: (entry: UpstreamEntry, signal: AbortSignal) => Promise<number | null>,
  ) {
    this.#models = models;
    this.#ask = ask;
  }

  /** null for a model of which nobody says it, and for one that is not configured. */
  async of(name: string): Promise<number | null> {
    const models = this.#models();
    if (!Object.hasOwn(models, name)) return null;
    const { limits, upstreams } = models[name]!;
    const said = await Promise.all(upstreams.map((entry) => this.#said(entry)));
    const known = [limits?.context_tokens, ...said].filter((tokens) => tokens != null);
    return known.length === 0 ? null : Math.min(...known);
  }

  #said(entry: UpstreamEntry): Promise<number | null> {
    const key = JSON.stringify(entry);
    const last = this.#answers.get(key);
    if (last !== undefined && performance.now() < last.until) return last.tokens;
    const tokens = this.#ask(entry, AbortSignal.timeout(answerMs));
    const answer = { tokens, until: performance.now() + knownMs };
    this.#answers.set(key, answer);
    inBackground('the size of a context window', async () => {
      if ((await tokens) === null) answer.until = performance.now() + unknownMs;
    });
    return tokens;
  }
}

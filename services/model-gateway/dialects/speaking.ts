import { type DialectName, dialectOf, type Endpoint } from '../providers/endpoints.ts';
import type { ModelCall, Upstream, UpstreamAnswer } from '../providers/upstream.ts';
import { dialects } from './registry.ts';
import { sendTranslated } from './translated.ts';

/** An upstream in all dialects that it is asked in: its own, and those that are translated to chat completions. */
export class SpeakingUpstream implements Upstream {
  readonly name: string;
  readonly #spoken: Readonly<Partial<Record<DialectName, Upstream>>>;

  constructor(name: string, spoken: Readonly<Partial<Record<DialectName, Upstream>>>) {
    this.name = name;
    this.#spoken = spoken;
  }

  answers(endpoint: Endpoint): boolean {
    const dialect = dialectOf[endpoint];
    return this.#spoken[dialect] !== undefined || this.#translates(endpoint);
  }

  async send(call: ModelCall): Promise<UpstreamAnswer> {
    const dialect = dialectOf[call.endpoint];
    const own = this.#spoken[dialect];
    if (own !== undefined) return await own.send(call);
    const { chat } = this.#spoken;
    const { translation, outputAsked } = dialects[dialect];
    if (chat === undefined || translation === null)
      throw new Error(`${this.name} is not asked in ${dialect}`);
    return await sendTranslated(chat, translation, call, outputAsked(call.request));
  }

  /** Only a conversation has a counterpart: nothing that speaks chat completions counts tokens. */
  #translates(endpoint: Endpoint): boolean {
    const { endpoints, translation } = dialects[dialectOf[endpoint]];
    return this.#spoken.chat !== undefined && translation !== null && endpoints[endpoint]!.uses;
  }
}

import { sharedClock } from '../fixtures/history/history.ts';
import { greetSteps } from '../fixtures/models/greet-steps.ts';
import { type ModelServer, type Script, startModelServer } from '../fixtures/models/model-server.ts';

/** US dollars for a million tokens. */
export const prices = { coder: { input: 1, output: 2 }, spender: { input: 1, output: 1_000 } } as const;
/** Tokens that each answer to a spender has. */
export const spentTokens = 50;

export interface Bill {
  /** What the call said it is for. */
  readonly purpose: string;
  /** US dollars. */
  readonly cost: number;
  readonly at: number;
}

/** A stand-in for a provider of models, which bills every call that reaches it. */
export interface Upstream {
  readonly url: string;
  /** Of each call that reached it. */
  readonly bills: readonly Bill[];
  close(): Promise<void>;
}

export async function startUpstream(host: string): Promise<Upstream> {
  const bills: Bill[] = [];
  const script: Script = ({ body }) => {
    const isSpender = body.model === 'spender-1';
    const usage = isSpender ? { input: 5, output: spentTokens } : { input: 100, output: 20 };
    const price = isSpender ? prices.spender : prices.coder;
    const [purpose = 'nothing'] = /\((case|spend) [^)]+\)/.exec(JSON.stringify(body.messages)) ?? [];
    const cost = (usage.input * price.input + usage.output * price.output) / 1e6;
    bills.push({ purpose, cost, at: sharedClock() });
    const whole = body.stream !== true;
    if (isSpender) return { text: 'spent', usage, whole };
    const done = body.messages.filter(({ role }) => role === 'assistant').length;
    return { ...(greetSteps[done] ?? greetSteps.at(-1)!), usage, whole };
  };
  const server: ModelServer = await startModelServer(script, undefined, host);
  return { url: server.url, bills, close: () => server.close() };
}

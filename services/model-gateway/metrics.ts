import type { Registry } from 'prom-client';
import { AskedGauge, TallyCounter, TallyHistogram } from '#kit/http/tally.ts';
import type { Settlement } from './ledger/ledger.ts';
import { dollarsOf } from './ledger/money.ts';

export interface EndedCall {
  readonly model: string;
  readonly upstream: string;
  readonly outcome: 'done' | 'aborted' | 'failed';
  readonly ms: number;
  /** Null where no token came. */
  readonly firstTokenMs: number | null;
  readonly settlement: Settlement;
}

export interface CallMetrics {
  /** Adds the measurements to those of the server. */
  register(registry: Registry): void;
  ended(call: EndedCall): void;
  /** An attempt that failed, whatever came of the call. */
  failed(model: string, upstream: string, code: string): void;
}

export interface LaneState {
  readonly model: string;
  readonly upstream: string;
  readonly running: number;
  readonly waiting: number;
}

const kinds = ['input', 'output', 'cached', 'cache_writes'] as const;

/** @param lanes how many calls are under way and wait, asked when the measurements are read */
export function createCallMetrics(lanes: () => readonly LaneState[]): CallMetrics {
  const calls = new TallyCounter({
    name: 'model_calls_total',
    help: 'Calls that ended',
  });
  const tokens = new TallyCounter({
    name: 'model_tokens_total',
    help: 'Tokens used; cached and cache_writes are parts of input',
  });
  const cost = new TallyCounter({
    name: 'model_cost_dollars_total',
    help: 'What calls cost, in US dollars',
  });
  const errors = new TallyCounter({
    name: 'model_upstream_errors_total',
    help: 'Attempts that failed, also where a later one succeeded',
  });
  const firstToken = new TallyHistogram({
    name: 'model_first_token_seconds',
    help: 'Time from the request to the first byte of its answer',
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
  });
  const duration = new TallyHistogram({
    name: 'model_call_seconds',
    help: 'Time from the request to the end of its answer',
    buckets: [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600],
  });
  const underWay = new AskedGauge({
    name: 'model_calls_under_way',
    help: 'Calls at an upstream now (running) and for a place there (waiting)',
    ask: () =>
      lanes().flatMap(({ model, upstream, running, waiting }) => [
        [{ model, upstream, state: 'running' }, running],
        [{ model, upstream, state: 'waiting' }, waiting],
      ]),
  });

  /** By model and upstream. */
  const found = new Map<string, Map<string, ReturnType<typeof talliesOf>>>();

  function talliesOf(model: string, upstream: string) {
    const token = (kind: (typeof kinds)[number]) => tokens.of({ model, upstream, kind });
    const outcome = (outcome: EndedCall['outcome']) => calls.of({ model, upstream, outcome });
    return {
      outcomes: { done: outcome('done'), aborted: outcome('aborted'), failed: outcome('failed') },
      tokens: {
        input: token('input'),
        output: token('output'),
        cached: token('cached'),
        cache_writes: token('cache_writes'),
      },
      duration: duration.of({ model, upstream }),
      firstToken: firstToken.of({ model, upstream }),
      cost: cost.of({ model, upstream }),
    };
  }

  function tallies(model: string, upstream: string) {
    const known = found.get(model)?.get(upstream);
    if (known !== undefined) return known;
    const made = talliesOf(model, upstream);
    const ofModel = found.get(model) ?? new Map<string, ReturnType<typeof talliesOf>>();
    found.set(model, ofModel.set(upstream, made));
    return made;
  }

  return {
    register(registry) {
      for (const metric of [calls, tokens, cost, errors, firstToken, duration, underWay])
        metric.registerIn(registry);
    },
    ended({ model, upstream, outcome, ms, firstTokenMs, settlement }) {
      const own = tallies(model, upstream);
      own.outcomes[outcome].add(1);
      own.duration.observe(ms / 1000);
      if (firstTokenMs !== null) own.firstToken.observe(firstTokenMs / 1000);
      for (const kind of kinds) own.tokens[kind].add(settlement.usage[kind]);
      own.cost.add(dollarsOf(settlement.cost));
    },
    failed(model, upstream, code) {
      errors.add({ model, upstream, code: /^[a-z0-9_]{1,40}$/.test(code) ? code : 'other' });
    },
  };
}

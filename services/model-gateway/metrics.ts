import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
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
const where = ['model', 'upstream'] as const;

/** @param lanes how many calls are under way and wait, asked when the measurements are read */
export function createCallMetrics(lanes: () => readonly LaneState[]): CallMetrics {
  const registers: Registry[] = [];
  const calls = new Counter({
    name: 'model_calls_total',
    help: 'Calls that ended',
    labelNames: [...where, 'outcome'],
    registers,
  });
  const tokens = new Counter({
    name: 'model_tokens_total',
    help: 'Tokens used; cached and cache_writes are parts of input',
    labelNames: [...where, 'kind'],
    registers,
  });
  const cost = new Counter({
    name: 'model_cost_dollars_total',
    help: 'What calls cost, in US dollars',
    labelNames: where,
    registers,
  });
  const errors = new Counter({
    name: 'model_upstream_errors_total',
    help: 'Attempts that failed, also where a later one succeeded',
    labelNames: [...where, 'code'],
    registers,
  });
  const firstToken = new Histogram({
    name: 'model_first_token_seconds',
    help: 'Time from the request to the first byte of its answer',
    labelNames: where,
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
    registers,
  });
  const duration = new Histogram({
    name: 'model_call_seconds',
    help: 'Time from the request to the end of its answer',
    labelNames: where,
    buckets: [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600],
    registers,
  });
  const underWay = new Gauge({
    name: 'model_calls_under_way',
    help: 'Calls at an upstream now (running) and for a place there (waiting)',
    labelNames: [...where, 'state'],
    registers,
    collect() {
      for (const { model, upstream, running, waiting } of lanes()) {
        this.set({ model, upstream, state: 'running' }, running);
        this.set({ model, upstream, state: 'waiting' }, waiting);
      }
    },
  });

  /** Found by their labels once; finding them costs more than counting. */
  const found = new Map<string, ReturnType<typeof countersOf>>();

  function countersOf(model: string, upstream: string) {
    const token = (kind: string) => tokens.labels({ model, upstream, kind });
    const outcome = (outcome: EndedCall['outcome']) => calls.labels({ model, upstream, outcome });
    return {
      outcomes: { done: outcome('done'), aborted: outcome('aborted'), failed: outcome('failed') },
      tokens: {
        input: token('input'),
        output: token('output'),
        cached: token('cached'),
        cache_writes: token('cache_writes'),
      },
      duration: duration.labels({ model, upstream }),
      firstToken: firstToken.labels({ model, upstream }),
      cost: cost.labels({ model, upstream }),
    };
  }

  function counters(model: string, upstream: string) {
    const key = `${model}\n${upstream}`;
    let own = found.get(key);
    if (own === undefined) {
      own = countersOf(model, upstream);
      found.set(key, own);
    }
    return own;
  }

  return {
    register(registry) {
      for (const metric of [calls, tokens, cost, errors, firstToken, duration, underWay]) {
        registry.registerMetric(metric as Counter);
      }
    },
    ended({ model, upstream, outcome, ms, firstTokenMs, settlement }) {
      const own = counters(model, upstream);
      own.outcomes[outcome].inc();
      own.duration.observe(ms / 1000);
      if (firstTokenMs !== null) own.firstToken.observe(firstTokenMs / 1000);
      const { usage } = settlement;
      for (const kind of kinds) if (usage[kind] > 0) own.tokens[kind].inc(usage[kind]);
      if (settlement.cost > 0) own.cost.inc(dollarsOf(settlement.cost));
    },
    failed(model, upstream, code) {
      errors.inc({ model, upstream, code: /^[a-z0-9_]{1,40}$/.test(code) ? code : 'other' });
    },
  };
}

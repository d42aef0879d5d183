import type { SemaphoreState } from '#kit/jobs/fair-semaphore.ts';
import { Counter, Gauge, Histogram, Registry } from '#kit/prometheus.ts';
import { dollarsOf } from './ledger/money.ts';
import type { CallResult, Settlement } from './ledger/settlement.ts';
import type { DialectName } from './providers/endpoints.ts';

export interface EndedCall extends Pick<CallResult, 'upstream' | 'outcome' | 'ms' | 'firstTokenMs'> {
  readonly model: string;
  /** That the client spoke. */
  readonly dialect: DialectName;
  readonly settlement: Settlement;
}

export type CallMetrics = ReturnType<typeof createCallMetrics>;

export interface LaneState extends SemaphoreState {
  readonly model: string;
  readonly upstream: string;
}

const kinds = ['input', 'output', 'cached', 'cache_writes'] as const;

/** @param lanes how many calls are under way and wait, asked when the measurements are read */
export function createCallMetrics(lanes: () => readonly LaneState[]) {
  const registry = new Registry();
  const registers = [registry];
  const at = ['model', 'upstream', 'dialect'];
  const counter = (name: string, help: string, ...labels: string[]) =>
    new Counter({ name, help, labelNames: [...at, ...labels], registers });
  const calls = counter('model_calls_total', 'Calls that ended', 'outcome');
  const tokens = counter(
    'model_tokens_total',
    'Tokens used; cached and cache_writes are parts of input',
    'kind',
  );
  const cost = counter('model_cost_dollars_total', 'What calls cost, in US dollars');
  const errors = counter(
    'model_upstream_errors_total',
    'Attempts that failed, also where a later one succeeded',
    'code',
  );
  const firstToken = new Histogram({
    name: 'model_first_token_seconds',
    help: 'Time from the request to the first byte of its answer',
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
    labelNames: at,
    registers,
  });
  const duration = new Histogram({
    name: 'model_call_seconds',
    help: 'Time from the request to the end of its answer',
    buckets: [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600],
    labelNames: at,
    registers,
  });
  new Gauge({
    name: 'model_calls_under_way',
    help: 'Calls at an upstream now (running) and for a place there (waiting)',
    labelNames: ['model', 'upstream', 'state'],
    registers,
    collect() {
      for (const { model, upstream, running, waiting } of lanes()) {
        this.set({ model, upstream, state: 'running' }, running);
        this.set({ model, upstream, state: 'waiting' }, waiting);
      }
    },
  });

  return {
    registry,
    ended({ model, upstream, dialect, outcome, ms, firstTokenMs, settlement }: EndedCall): void {
      const place = { model, upstream, dialect };
      calls.inc({ ...place, outcome });
      duration.observe(place, ms / 1000);
      if (firstTokenMs !== null) firstToken.observe(place, firstTokenMs / 1000);
      for (const kind of kinds) tokens.inc({ ...place, kind }, settlement.usage[kind]);
      cost.inc(place, dollarsOf(settlement.cost));
    },
    /** An attempt that failed, whatever came of the call. */
    failed(at: Pick<EndedCall, 'model' | 'upstream' | 'dialect'>, code: string): void {
      errors.inc({ ...at, code });
    },
  };
}

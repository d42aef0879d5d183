import {
  Counter,
  type CounterConfiguration,
  type HistogramConfiguration,
  type Metric,
  type Registry,
} from 'prom-client';

type Labels = Readonly<Record<string, string | number>>;

/** Numbers of one set of labels. prom-client looks labels up at each count, which costs more than what is counted. */
export interface CounterTally {
  add(amount: number): void;
}

/** A counter of prom-client, whose tallies are given to it when it is read. */
export function tallyCounter(
  config: Pick<CounterConfiguration<string>, 'name' | 'help' | 'labelNames' | 'registers'>,
): { readonly counter: Counter; of(labels: Labels): CounterTally } {
  const tallies: { readonly labels: Labels; pending: number }[] = [];
  const counter = new Counter({
    ...config,
    collect() {
      for (const tally of tallies) {
        if (tally.pending > 0) this.inc(tally.labels, tally.pending);
        tally.pending = 0;
      }
    },
  });
  return {
    counter,
    of(labels) {
      const tally = {
        labels,
        pending: 0,
        add(amount: number) {
          this.pending += amount;
        },
      };
      tallies.push(tally);
      return tally;
    },
  };
}

/** Observations of one set of labels. */
export class HistogramTally {
  readonly labels: Labels;
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  constructor(labels: Labels, bounds: readonly number[]) {
    this.labels = labels;
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.#sum += value;
    this.#count++;
    for (let index = 0; index < this.#bounds.length; index++) {
      if (value > this.#bounds[index]!) continue;
      this.#counts[index]!++;
      return;
    }
  }

  /** As Prometheus wants them: each bucket with all that are lower. */
  values(name: string): { metricName: string; labels: Labels; value: number }[] {
    let below = 0;
    const bucket = (le: number | string, value: number) => ({
      metricName: `${name}_bucket`,
      labels: { le, ...this.labels },
      value,
    });
    const buckets = this.#bounds.map((bound, index) => {
      below += this.#counts[index]!;
      return bucket(bound, below);
    });
    return [
      ...buckets,
      bucket('+Inf', this.#count),
      { metricName: `${name}_sum`, labels: this.labels, value: this.#sum },
      { metricName: `${name}_count`, labels: this.labels, value: this.#count },
    ];
  }
}

/** A histogram that a registry of prom-client reads like its own. */
export class TallyHistogram {
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly name: string;
  readonly help: string;
  readonly #bounds: readonly number[];
  readonly #tallies: HistogramTally[] = [];

  constructor({ name, help, buckets }: Pick<HistogramConfiguration<string>, 'name' | 'help' | 'buckets'>) {
    this.name = name;
    this.help = help;
    this.#bounds = buckets ?? [];
  }

  of(labels: Labels): HistogramTally {
    const tally = new HistogramTally(labels, this.#bounds);
    this.#tallies.push(tally);
    return tally;
  }

  registerIn(registry: Registry): void {
    registry.registerMetric(this as unknown as Metric);
  }

  async get(): Promise<object> {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: this.#tallies.flatMap((tally) => tally.values(name)) };
  }
}

import type { Metric, Registry } from 'prom-client';

type Labels = Readonly<Record<string, string | number>>;

interface Measured {
  readonly name: string;
  readonly help: string;
}

interface MeasuredValue {
  readonly labels: Labels;
  readonly value: number;
  readonly metricName?: string;
}

/**
 * Numbers that a registry of prom-client reads like its own metrics. They need nothing of prom-client, which is loaded when
 * measurements are read first, and looks labels up at each count, which costs more than what is counted.
 */
abstract class Tally {
  readonly name: string;
  readonly help: string;
  abstract readonly type: 'counter' | 'gauge' | 'histogram';
  readonly aggregator = 'sum';

  constructor({ name, help }: Measured) {
    this.name = name;
    this.help = help;
  }

  registerIn(registry: Registry): void {
    registry.registerMetric(this as unknown as Metric);
  }

  async get(): Promise<object> {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: this.values() };
  }

  protected abstract values(): MeasuredValue[];
}

/** Numbers of one set of labels. */
export class CounterTally {
  readonly labels: Labels;
  #total = 0;

  constructor(labels: Labels) {
    this.labels = labels;
  }

  get total(): number {
    return this.#total;
  }

  add(amount: number): void {
    this.#total += amount;
  }
}

/** What was never counted is not shown. */
export class TallyCounter extends Tally {
  readonly type = 'counter';
  readonly #tallies: CounterTally[] = [];
  readonly #byLabels = new Map<string, CounterTally>();

  /** A tally to keep: what is counted often looks no labels up. */
  of(labels: Labels): CounterTally {
    const tally = new CounterTally(labels);
    this.#tallies.push(tally);
    return tally;
  }

  /** For what is counted now and then. */
  add(labels: Labels, amount = 1): void {
    const key = JSON.stringify(labels);
    const tally = this.#byLabels.get(key) ?? this.of(labels);
    this.#byLabels.set(key, tally);
    tally.add(amount);
  }

  protected values(): MeasuredValue[] {
    return this.#tallies
      .filter(({ total }) => total > 0)
      .map(({ labels, total }) => ({ labels, value: total }));
  }
}

/** Numbers that somebody else holds, asked when the measurements are read. */
export class AskedGauge extends Tally {
  readonly type = 'gauge';
  readonly #ask: () => Iterable<readonly [labels: Labels, value: number]>;

  constructor(measured: Measured & { readonly ask: () => Iterable<readonly [Labels, number]> }) {
    super(measured);
    this.#ask = measured.ask;
  }

  protected values(): MeasuredValue[] {
    return [...this.#ask()].map(([labels, value]) => ({ labels, value }));
  }
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
  values(name: string): MeasuredValue[] {
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

export class TallyHistogram extends Tally {
  readonly type = 'histogram';
  readonly #bounds: readonly number[];
  readonly #tallies: HistogramTally[] = [];

  constructor(measured: Measured & { readonly buckets: readonly number[] }) {
    super(measured);
    this.#bounds = measured.buckets;
  }

  of(labels: Labels): HistogramTally {
    const tally = new HistogramTally(labels, this.#bounds);
    this.#tallies.push(tally);
    return tally;
  }

  protected values(): MeasuredValue[] {
    return this.#tallies.flatMap((tally) => tally.values(this.name));
  }
}

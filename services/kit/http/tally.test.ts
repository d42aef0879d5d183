import { expect } from 'chai';
import { Registry } from 'prom-client';
import { AskedGauge, TallyCounter, TallyHistogram } from './tally.ts';

async function linesOf(metric: { registerIn(registry: Registry): void }): Promise<string[]> {
  const registry = new Registry();
  registry.setDefaultLabels({ service: 'core-test' });
  metric.registerIn(registry);
  const text = await registry.metrics();
  return text.split('\n').filter((line) => line !== '');
}

describe('What is measured', () => {
  it('is shown as Prometheus has counters, once something was counted', async () => {
    const counter = new TallyCounter({ name: 'calls_total', help: 'Calls' });
    const kept = counter.of({ outcome: 'done' });
    counter.of({ outcome: 'never' });
    expect(await linesOf(counter)).to.deep.equal(['# HELP calls_total Calls', '# TYPE calls_total counter']);
    kept.add(2);
    counter.add({ outcome: 'failed' });
    counter.add({ outcome: 'failed' }, 4);
    expect((await linesOf(counter)).slice(2)).to.deep.equal([
      'calls_total{outcome="done",service="core-test"} 2',
      'calls_total{outcome="failed",service="core-test"} 5',
    ]);
  });

  it('is asked of who holds it when it is read', async () => {
    let waiting = 1;
    const gauge = new AskedGauge({ name: 'queue', help: 'Waiting', ask: () => [[{ of: 'a' }, waiting]] });
    expect((await linesOf(gauge)).at(-1)).to.equal('queue{of="a",service="core-test"} 1');
    waiting = 0;
    expect(await linesOf(gauge)).to.deep.equal([
      '# HELP queue Waiting',
      '# TYPE queue gauge',
      'queue{of="a",service="core-test"} 0',
    ]);
  });

  it('falls into buckets, each with all that are lower', async () => {
    const histogram = new TallyHistogram({ name: 'took', help: 'Seconds', buckets: [0.1, 1] });
    const tally = histogram.of({});
    for (const seconds of [0.05, 0.1, 0.5, 7]) tally.observe(seconds);
    expect((await linesOf(histogram)).slice(1)).to.deep.equal([
      '# TYPE took histogram',
      'took_bucket{le="0.1",service="core-test"} 2',
      'took_bucket{le="1",service="core-test"} 3',
      'took_bucket{le="+Inf",service="core-test"} 4',
      'took_sum{service="core-test"} 7.65',
      'took_count{service="core-test"} 4',
    ]);
  });
});

import { type GatewayConfig, upstreamNames } from '../configuration.ts';
import type { LaneState } from '../metrics.ts';
import { FairSemaphore } from '../providers/fair-semaphore.ts';
import type { MakeUpstream, UpstreamFacts } from '../providers/upstream.ts';
import type { Lane } from './attempts.ts';
import type { Model } from './chosen-model.ts';

export interface ModelLanes {
  readonly models: ReadonlyMap<string, Model>;
  state(): readonly LaneState[];
}

/** Every configured model with its upstreams in order, and a queue before each that has a limit. */
export function modelLanes(config: Pick<GatewayConfig, 'models' | 'queue'>, make: MakeUpstream): ModelLanes {
  const queues: { readonly model: string; readonly upstream: string; readonly queue: FairSemaphore }[] = [];

  function laneOf(facts: UpstreamFacts): Lane {
    const { model, name: upstream, entry } = facts;
    const concurrency = entry.concurrency ?? Number.POSITIVE_INFINITY;
    const queue = new FairSemaphore(upstream, { concurrency, ...config.queue });
    queues.push({ model, upstream, queue });
    return { upstream: make(facts), enter: (account, signal) => queue.enter(account, signal) };
  }

  const models = new Map<string, Model>();
  for (const [name, entry] of Object.entries(config.models)) {
    const names = upstreamNames(entry);
    const lanes = entry.upstreams.map((upstream, position) =>
      laneOf({ model: name, name: names[position]!, entry: upstream, limits: entry.limits }),
    );
    models.set(name, {
      name,
      kind: entry.kind ?? 'chat',
      outputLimit: entry.limits?.output_tokens ?? null,
      contextLimit: entry.limits?.context_tokens ?? null,
      hasHourPrice: entry.upstreams.every(({ price }) => price == null || price.cache_writes_1h != null),
      lanes,
    });
  }
  return {
    models,
    state: () => queues.map(({ model, upstream, queue }) => ({ model, upstream, ...queue.state })),
  };
}

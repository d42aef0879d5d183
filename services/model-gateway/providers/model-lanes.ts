import type { Dispatcher } from 'undici';
import type { Lane } from '../calls/attempts.ts';
import type { Model } from '../calls/chosen-model.ts';
import { type GatewayConfig, type ModelEntry, type UpstreamEntry, upstreamNames } from '../configuration.ts';
import type { LaneState } from '../metrics.ts';
import type { ReadCredential } from './credential.ts';
import { FairSemaphore } from './fair-semaphore.ts';
import type { Upstream } from './upstream.ts';

export interface UpstreamFacts {
  readonly model: string;
  readonly name: string;
  readonly entry: UpstreamEntry;
  readonly limits: ModelEntry['limits'];
}

/** Makes the upstream of an entry, whatever its kind. */
export type MakeUpstream = (facts: UpstreamFacts) => Upstream;

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

/** What the adapters of each kind need beside the entry itself. */
export interface AdapterParts {
  readonly dispatcher: Dispatcher;
  readonly credential: (name: string | null) => ReadCredential;
  readonly timeouts: GatewayConfig['timeouts'];
  readonly userAgent: string;
}

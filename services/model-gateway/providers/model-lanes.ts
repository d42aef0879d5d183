import { createRequire } from 'node:module';
import type { Dispatcher } from 'undici';
import type { Environment } from '#kit/environment.ts';
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

export type Proxies = Pick<Environment, 'HTTP_PROXY' | 'HTTPS_PROXY' | 'NO_PROXY'>;

/**
 * Connections to all upstreams: kept open, none ever shared by two calls at once, redirects not followed; through a proxy where
 * the environment names one, but for upstreams on this machine. What makes them is loaded with the first call.
 */
export function upstreamConnections(connectMs: number, proxies: Proxies): Connections {
  let opened: Dispatcher | null = null;
  return {
    dispatch(options, handler) {
      opened ??= openConnections(connectMs, proxies);
      return opened.dispatch(options, handler);
    },
    destroy: async () => opened?.destroy(),
  };
}

export type Connections = Pick<Dispatcher, 'dispatch'> & { destroy(): Promise<void> };

const require = createRequire(import.meta.url);

function openConnections(connectMs: number, proxies: Proxies): Dispatcher {
  const { Agent, EnvHttpProxyAgent } = require('undici') as typeof import('undici');
  const options = {
    connect: { timeout: connectMs },
    pipelining: 1,
    keepAliveTimeout: 4_000,
    maxResponseSize: -1,
    maxHeaderSize: 32_768,
  };
  const { HTTP_PROXY: httpProxy = '', HTTPS_PROXY: httpsProxy = '', NO_PROXY = '' } = proxies;
  if (httpProxy === '' && httpsProxy === '') return new Agent(options);
  const noProxy = `localhost,127.0.0.1,::1,${NO_PROXY}`;
  return new EnvHttpProxyAgent({ ...options, httpProxy, httpsProxy, noProxy });
}

/** What the adapters of each kind need beside the entry itself. */
export interface AdapterParts {
  readonly dispatcher: Connections;
  readonly credential: (name: string | null) => ReadCredential;
  readonly timeouts: GatewayConfig['timeouts'];
  readonly userAgent: string;
}

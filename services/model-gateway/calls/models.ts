import { Forbidden, NotFound } from '#kit/errors.ts';
import { FairSemaphore, type SemaphoreState } from '#kit/jobs/fair-semaphore.ts';
import { type GatewayConfig, type ModelEntry, upstreamNames } from '../configuration.ts';
import { dialectFor, endpointFacts } from '../dialects/registry.ts';
import type { Account } from '../ledger/accounts.ts';
import { priceOf } from '../ledger/money.ts';
import type { LaneState } from '../metrics.ts';
import { ownFailure, type UpstreamFailure } from '../providers/failure.ts';
import type { MakeUpstream, Upstream, UpstreamFacts } from '../providers/upstream.ts';
import { checkAllowed } from './allowed-for-run.ts';
import { type DecodedCall, InvalidCall } from './decode-call.ts';

/** An upstream with the place that a call has to have there. */
export interface Lane {
  readonly upstream: Upstream;
  enter(account: string, signal: AbortSignal): Promise<() => void>;
}

export interface Model {
  readonly name: string;
  readonly kind: NonNullable<ModelEntry['kind']>;
  readonly outputLimit: number | null;
  /** Tokens that input and output have room in. */
  readonly contextLimit?: number | null;
  /** Each upstream that has a price has one for input that is cached for an hour. */
  readonly hasHourPrice?: boolean;
  readonly lanes: readonly Lane[];
}

/** What a call asks for, where it may, with the upstreams that answer it. @throws UnknownModel, ForbiddenModel, InvalidCall */
export function chosenModel(call: DecodedCall, account: Account, models: ReadonlyMap<string, Model>): Model {
  const model = models.get(call.model);
  const wanted = endpointFacts(call.endpoint).for;
  const isOwn = account.models === null || account.models.includes(call.model);
  if (model === undefined || !isOwn || model.kind !== wanted) throw notChosen(call, wanted, account, models);
  checkLimit(call, model);
  if (account.run !== null) checkAllowed(call, model);
  const lanes = model.lanes.filter(({ upstream }) => upstream.answers?.(call.endpoint) ?? true);
  if (lanes.length === model.lanes.length) return model;
  if (lanes.length > 0) return { ...model, lanes };
  throw new InvalidCall(
    'not_translatable',
    `no upstream of model ${JSON.stringify(model.name)} answers ${call.endpoint}, and it cannot be translated for them: ask by another interface, or choose another model`,
    'model',
  );
}

function notChosen(
  call: DecodedCall,
  wanted: Model['kind'],
  { models: own }: Account,
  models: ReadonlyMap<string, Model>,
): Error {
  const known = [...models.values()].filter(({ name }) => own === null || own.includes(name));
  const model = models.get(call.model);
  const choices = known.filter(({ kind }) => kind === wanted).map(({ name }) => name);
  const must = choices.length === 0 ? noneThere(models.size, wanted) : `must be one of ${choices.join(', ')}`;
  const said = `model ${JSON.stringify(call.model.slice(0, 120))}`;
  if (model === undefined) return new UnknownModel('model_not_found', `${said} is not configured: ${must}`);
  if (!known.includes(model)) {
    return new ForbiddenModel('model_not_allowed', `${said} is not allowed for this key: ${must}`);
  }
  return new InvalidCall('model_kind', `${said} is for ${model.kind}, not for ${wanted}: ${must}`, 'model');
}

function checkLimit({ endpoint, request }: DecodedCall, { outputLimit }: Model): void {
  const asked = dialectFor(endpoint).outputAsked(request);
  if (asked === null || outputLimit === null || asked.tokens <= outputLimit) return;
  const { param, tokens } = asked;
  throw new InvalidCall('invalid_input', `${param} is ${tokens}: must be at most ${outputLimit}`, param);
}

class UnknownModel extends NotFound {
  readonly param = 'model';
}

class ForbiddenModel extends Forbidden {
  readonly param = 'model';
}

function noneThere(all: number, wanted: string): string {
  return all === 0
    ? 'none is; ./core model add configures one'
    : `there is none for ${wanted}; ./core model add configures one`;
}

export interface ModelLanes {
  readonly models: ReadonlyMap<string, Model>;
  /** By all that they were made of. */
  readonly byFacts: ReadonlyMap<string, QueuedLane>;
  state(): readonly LaneState[];
}

interface QueuedLane extends Lane {
  readonly queue: FairSemaphore;
}

/**
 * Every configured model with its upstreams in order, and a queue before each that has a limit.
 * @param before of which the lanes go on whose configuration is the same, with the calls that wait there
 */
export function modelLanes(
  config: Pick<GatewayConfig, 'models' | 'queue'>,
  make: MakeUpstream,
  before?: ModelLanes,
): ModelLanes {
  const queues: { readonly model: string; readonly upstream: string; readonly queue: FairSemaphore }[] = [];
  const byFacts = new Map<string, QueuedLane>();

  function laneOf(facts: UpstreamFacts): Lane {
    const key = JSON.stringify([facts, config.queue]);
    const lane = before?.byFacts.get(key) ?? newLane(facts);
    byFacts.set(key, lane);
    queues.push({ model: facts.model, upstream: facts.name, queue: lane.queue });
    return lane;
  }

  function newLane(facts: UpstreamFacts): QueuedLane {
    const { name: upstream, entry } = facts;
    const { waiting, wait_ms: waitMs } = config.queue;
    const concurrency = entry.concurrency ?? Number.POSITIVE_INFINITY;
    const queue = new FairSemaphore({ concurrency, maxPending: waiting }, (reason, state) =>
      reason === 'full' ? queueFull(upstream, state) : queueTimeout(upstream, waitMs),
    );
    return { upstream: make(facts), enter: (account, signal) => queue.enter(account, waitMs, signal), queue };
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
      hasHourPrice: entry.upstreams.every((one) => priceOf(one)?.cache_writes_1h !== null),
      lanes,
    });
  }
  return {
    models,
    byFacts,
    state: () => queues.map(({ model, upstream, queue }) => ({ model, upstream, ...queue.state })),
  };
}

function queueFull(upstream: string, { running, waiting }: SemaphoreState): UpstreamFailure {
  const state = `has ${running} calls under way and ${waiting} waiting, the limit`;
  return noPlace('queue_full', `upstream ${upstream} ${state}`);
}

function queueTimeout(upstream: string, waitMs: number): UpstreamFailure {
  return noPlace('queue_timeout', `upstream ${upstream} had no place for ${waitMs / 1000} s`);
}

function noPlace(code: string, message: string): UpstreamFailure {
  return ownFailure(429, code, message, { remedy: 'next', retryAfterMs: 1_000 });
}

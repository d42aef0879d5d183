import { Forbidden, NotFound } from '#kit/errors.ts';
import { FairSemaphore, type SemaphoreState } from '#kit/jobs/fair-semaphore.ts';
import { type GatewayConfig, type ModelEntry, upstreamNames } from '../configuration.ts';
import { dialectFor, endpointFacts } from '../dialects/registry.ts';
import { objectsIn } from '../dialects/rules.ts';
import type { Account } from '../ledger/accounts.ts';
import { priceOf } from '../ledger/money.ts';
import type { LaneState } from '../metrics.ts';
import { ownFailure, type UpstreamFailure } from '../providers/failure.ts';
import type { MakeUpstream, Upstream, UpstreamFacts } from '../providers/upstream.ts';
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
  checkOthers(call, account, model);
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

/** Some upstreams take further models from a request, for when the first fails. */
function checkOthers(call: DecodedCall, { run, models, budget }: Account, model: Model): void {
  if (run === null && models === null && budget === null) return;
  const { request } = call;
  checkDearer(call, model);
  if (run !== null) checkReach(call);
  for (const member of ['models', 'fallbacks']) {
    if (request[member] == null) continue;
    throw new InvalidCall(
      'invalid_input',
      `${member} is not possible with the key of a run: must be left out, as it names models beside the one that is paid for`,
      member,
    );
  }
}

/** What a run is planned with may be bound to a sandbox, which an upstream that reaches others for it is not. */
function checkReach({ endpoint, request }: DecodedCall): void {
  const param = dialectFor(endpoint).reachesOut(request);
  if (param === null) return;
  throw new InvalidCall(
    'invalid_input',
    `${param} is not possible with the key of a run: must be left out, as the upstream itself would run the tool or read the address, outside of every sandbox`,
    param,
  );
}

/** Members by which an answer may cost more than the price that is known here, with the values that do not. */
const plain: Readonly<Record<string, readonly string[]>> = {
  service_tier: ['auto', 'default', 'flex', 'standard_only'],
  serviceTier: ['standard', 'flex', 'unspecified'],
  speed: ['standard'],
  inference_geo: ['global'],
};

function checkDearer(call: DecodedCall, { hasHourPrice = false }: Model): void {
  for (const [member, values] of Object.entries(plain)) {
    const value = call.request[member];
    if (value == null || (typeof value === 'string' && values.includes(value.toLowerCase()))) continue;
    throw dearer(member, JSON.stringify(value), values.join(', '));
  }
  const ttl = unusualTtl(call);
  if (ttl === undefined || (ttl === '1h' && hasHourPrice)) return;
  throw dearer('cache_control.ttl', JSON.stringify(ttl), hasHourPrice ? '5m or 1h' : '5m');
}

function dearer(param: string, value: string, choices: string): InvalidCall {
  const said = `${param} is ${value.slice(0, 80)}: must be ${choices} with the key of a run, as the price of another is not known here`;
  return new InvalidCall('invalid_input', said, param);
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

/** The first time to live of a breakpoint of the prompt cache that is not the usual 5m; undefined where there is none. */
export function unusualTtl({ request }: Pick<DecodedCall, 'request'>): unknown {
  const messages = objectsIn(request.messages);
  const blocks = messages.flatMap(({ content }) => objectsIn(content));
  const marked = [
    request,
    ...objectsIn(request.system),
    ...messages,
    ...blocks,
    ...blocks.flatMap(({ content }) => objectsIn(content)),
    ...objectsIn(request.tools),
  ];
  return marked
    .map((one: { readonly cache_control?: { readonly ttl?: unknown } }) => one.cache_control?.ttl)
    .find((ttl) => ttl != null && ttl !== '5m');
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

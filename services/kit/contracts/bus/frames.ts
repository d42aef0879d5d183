import * as t from 'io-ts';
import { choiceBy, decode, oneOf, stringThat, valueThat } from '../../decode.ts';
import { messageOf } from '../../errors.ts';

/**
 * Frames of the capability bus: one JSON object in each text frame of the websocket, distinguished by `type`. Unknown members are
 * tolerated everywhere; what may be left out may also be null.
 */

const Id = stringThat('Id', 'a string of 1 to 500 characters', ({ length }) => length > 0 && length <= 500);

const Present = valueThat(
  'Present',
  'a value: {} where there is none',
  (value): value is unknown => value !== undefined,
  {},
);

const FrameError = t.type({ code: t.string, message: t.string });
export type FrameError = t.TypeOf<typeof FrameError> & { readonly stacktrace?: string | undefined };

/** Absent: the caller waits for the result. */
const CallAction = choiceBy('type', 'shape', {
  void: { shape: t.type({ type: t.literal('void') }) },
  enqueue: { shape: t.type({ type: t.literal('enqueue'), queue: t.string }) },
});

/** A member that may be null or left out, which mean the same. */
function orNone<A>(codec: t.Type<A, unknown, unknown>): t.Type<A | undefined> {
  return t.union([codec, t.null, t.undefined]) as unknown as t.Type<A | undefined>;
}

function members<N extends t.Props, O extends t.Props>(needed: N, optional: O) {
  return t.intersection([t.type(needed), t.partial(optional)]);
}

/** W3C trace context, handed on as it came. */
const traced = { traceparent: orNone(t.string), baggage: orNone(t.string) };

/** From a worker: calls `function_id` when it happens. From the engine, to the provider of the type: watch for it. */
const trigger = members(
  { id: Id, trigger_type: Id, function_id: Id, config: Present },
  { metadata: t.unknown },
);

const bothWays = {
  /** `invocation_id` is absent where nobody waits for the result. */
  invokefunction: members(
    { function_id: Id, data: Present },
    { invocation_id: orNone(Id), action: orNone(CallAction), metadata: t.unknown, ...traced },
  ),
  invocationresult: members(
    { invocation_id: Id, function_id: Id },
    { result: t.unknown, error: orNone<FrameError>(FrameError), ...traced },
  ),
  registertrigger: trigger,
  unregistertrigger: members({ id: Id }, { trigger_type: orNone(Id) }),
  triggerregistrationresult: members(
    { id: Id, trigger_type: Id, function_id: Id },
    { error: orNone<FrameError>(FrameError) },
  ),
  ping: t.type({}),
  pong: t.type({}),
};

const workerFrames = {
  ...bothWays,
  /** The token proves on a new connection whose the old one was. */
  reattach: members({ previous_worker_id: Id }, { reattach_token: orNone(t.string) }),
  /** With `invocation` the function is an HTTP address and not the worker's own. */
  registerfunction: members(
    { id: Id },
    {
      description: orNone(t.string),
      request_format: t.unknown,
      response_format: t.unknown,
      metadata: t.unknown,
      invocation: t.unknown,
    },
  ),
  unregisterfunction: t.type({ id: Id }),
  registertriggertype: members(
    { id: Id, description: t.string },
    { trigger_request_format: t.unknown, call_request_format: t.unknown },
  ),
  unregistertriggertype: t.type({ id: Id }),
  /** Groups functions for people; means nothing to calls. */
  registerservice: t.type({ id: Id }),
};

const engineFrames = {
  ...bothWays,
  /** The id is public, others see it in lists; the token is secret. */
  workerregistered: members({ worker_id: Id }, { reattach_token: orNone(t.string) }),
  /** A registration that is not taken; the connection stays. */
  registrationrejected: members(
    { code: t.string },
    { message: orNone(t.string), function_id: orNone(t.string), owner_worker_id: orNone(t.string) },
  ),
  /** Before the engine closes a connection that it does not take. */
  error: t.type({ error: FrameError }),
};

type FrameOf<F extends Readonly<Record<string, t.Mixed>>> = {
  [K in keyof F]: Readonly<{ type: K } & t.TypeOf<F[K]>>;
};
type WorkerFrames = FrameOf<typeof workerFrames>;
type EngineFrames = FrameOf<typeof engineFrames>;

export type WorkerFrame = WorkerFrames[keyof WorkerFrames];
export type EngineFrame = EngineFrames[keyof EngineFrames];
export type Reattach = WorkerFrames['reattach'];
export type RegisterFunction = WorkerFrames['registerfunction'];
export type RegisterTriggerType = WorkerFrames['registertriggertype'];
export type RegisterTrigger = WorkerFrames['registertrigger'];
export type TriggerRegistrationResult = WorkerFrames['triggerregistrationresult'];
export type InvokeFunction = WorkerFrames['invokefunction'];
export type InvocationResult = WorkerFrames['invocationresult'];
export type WorkerRegistered = EngineFrames['workerregistered'];
export type RegistrationRejected = EngineFrames['registrationrejected'];

/** A frame that breaks a rule. `frame` is what came, where it was an object: it may say who waits for an answer. */
export interface FrameFault {
  readonly type: 'fault';
  readonly reason: string;
  readonly frame: Readonly<Record<string, unknown>> | null;
}

/** What a worker sent. */
export const workerFrame = reader<WorkerFrame>(workerFrames);

/** What the engine sent. */
export const engineFrame = reader<EngineFrame>(engineFrames);

function reader<F>(codecs: Readonly<Record<string, t.Mixed>>): (value: unknown) => F | FrameFault {
  const known = t.type({ type: oneOf(Object.keys(codecs)) });
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return { type: 'fault', reason: 'a frame must be a JSON object', frame: null };
    const frame = value as Readonly<Record<string, unknown>>;
    try {
      const { type } = known.is(frame) ? frame : decode(known, frame, 'a frame');
      const codec = codecs[type]!;
      // Decoding alone would copy each call, for what it leaves out.
      if (!codec.is(frame)) decode(codec, frame, type);
      return frame as F;
    } catch (error) {
      return { type: 'fault', reason: messageOf(error), frame };
    }
  };
}

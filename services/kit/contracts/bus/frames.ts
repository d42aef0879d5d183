/**
 * Frames of the capability bus: one JSON object in each text frame of the websocket, told apart by `type`. They are checked by hand
 * and not by codecs because every call passes here twice. Unknown members are tolerated everywhere; what may be left out may also
 * be null.
 */

export interface FrameError {
  readonly code: string;
  readonly message: string;
  readonly stacktrace?: string | undefined;
}

/** Absent: the caller waits for the result. */
export type CallAction = { readonly type: 'void' } | { readonly type: 'enqueue'; readonly queue: string };

/** W3C trace context, handed on as it came. */
interface Traced {
  readonly traceparent?: string | undefined;
  readonly baggage?: string | undefined;
}

export interface WorkerRegistered {
  readonly type: 'workerregistered';
  /** Public: others see it in lists. */
  readonly worker_id: string;
  /** Secret: proves on a new connection whose the old one was. */
  readonly reattach_token?: string | undefined;
}

export interface Reattach {
  readonly type: 'reattach';
  readonly previous_worker_id: string;
  readonly reattach_token?: string | undefined;
}

export interface RegisterFunction {
  readonly type: 'registerfunction';
  readonly id: string;
  readonly description?: string | undefined;
  readonly request_format?: unknown;
  readonly response_format?: unknown;
  readonly metadata?: unknown;
  /** The function is an HTTP address and not the worker's own. */
  readonly invocation?: unknown;
}

export interface UnregisterFunction {
  readonly type: 'unregisterfunction';
  readonly id: string;
}

export interface RegisterTriggerType {
  readonly type: 'registertriggertype';
  readonly id: string;
  readonly description: string;
  readonly trigger_request_format?: unknown;
  readonly call_request_format?: unknown;
}

export interface UnregisterTriggerType {
  readonly type: 'unregistertriggertype';
  readonly id: string;
}

/** From a worker: calls `function_id` when it happens. From the engine, to the provider of the type: watch for it. */
export interface RegisterTrigger {
  readonly type: 'registertrigger';
  readonly id: string;
  readonly trigger_type: string;
  readonly function_id: string;
  readonly config: unknown;
  readonly metadata?: unknown;
}

export interface UnregisterTrigger {
  readonly type: 'unregistertrigger';
  readonly id: string;
  readonly trigger_type?: string | undefined;
}

export interface TriggerRegistrationResult {
  readonly type: 'triggerregistrationresult';
  readonly id: string;
  readonly trigger_type: string;
  readonly function_id: string;
  readonly error?: FrameError | undefined;
}

export interface InvokeFunction extends Traced {
  readonly type: 'invokefunction';
  /** Absent where nobody waits for the result. */
  readonly invocation_id?: string | undefined;
  readonly function_id: string;
  readonly data: unknown;
  readonly action?: CallAction | undefined;
  readonly metadata?: unknown;
}

export interface InvocationResult extends Traced {
  readonly type: 'invocationresult';
  readonly invocation_id: string;
  readonly function_id: string;
  /** null and absent mean the same. */
  readonly result?: unknown;
  readonly error?: FrameError | undefined;
}

/** A registration that is not taken; the connection stays. */
export interface RegistrationRejected {
  readonly type: 'registrationrejected';
  readonly code: string;
  readonly message: string;
  readonly function_id?: string | undefined;
  readonly owner_worker_id?: string | undefined;
}

/** Before the engine closes a connection that it does not take. */
export interface ConnectionRefused {
  readonly type: 'error';
  readonly error: FrameError;
}

export interface Ping {
  readonly type: 'ping';
}

export interface Pong {
  readonly type: 'pong';
}

/** Groups functions for people; means nothing to calls. */
export interface RegisterService {
  readonly type: 'registerservice';
  readonly id: string;
}

export type WorkerFrame =
  | Reattach
  | RegisterFunction
  | UnregisterFunction
  | RegisterTriggerType
  | UnregisterTriggerType
  | RegisterTrigger
  | UnregisterTrigger
  | TriggerRegistrationResult
  | InvokeFunction
  | InvocationResult
  | RegisterService
  | Ping
  | Pong;

export type EngineFrame =
  | WorkerRegistered
  | RegisterTrigger
  | UnregisterTrigger
  | TriggerRegistrationResult
  | InvokeFunction
  | InvocationResult
  | RegistrationRejected
  | ConnectionRefused
  | Ping
  | Pong;

/** A frame that breaks a rule. `frame` is what came, where it was an object: it may say who waits for an answer. */
export interface FrameFault {
  readonly type: 'fault';
  readonly reason: string;
  readonly frame: Readonly<Record<string, unknown>> | null;
}

type Fields = Readonly<Record<string, unknown>>;
/** The rule that a frame breaks; null where it breaks none. */
type Guard = (frame: Fields) => string | null;

const maxIdLength = 500;

/** What a worker sent. */
export function workerFrame(value: unknown): WorkerFrame | FrameFault {
  return checked(value, workerGuards) as WorkerFrame | FrameFault;
}

/** What the engine sent. */
export function engineFrame(value: unknown): EngineFrame | FrameFault {
  return checked(value, engineGuards) as EngineFrame | FrameFault;
}

function checked(value: unknown, guards: Readonly<Record<string, Guard>>): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { type: 'fault', reason: 'a frame must be a JSON object', frame: null };
  const frame = value as Fields;
  const { type } = frame;
  if (typeof type !== 'string' || !Object.hasOwn(guards, type)) {
    return { type: 'fault', reason: `type ${shown(type)}: must be one of ${choices(guards)}`, frame };
  }
  const reason = guards[type]!(frame);
  return reason === null ? frame : { type: 'fault', reason: `${type}: ${reason}`, frame };
}

const trigger: Guard = (frame) =>
  id(frame, 'id') ??
  id(frame, 'trigger_type') ??
  id(frame, 'function_id') ??
  (frame.config === undefined ? 'config is missing: send {} where there is none' : null);

const triggerResult: Guard = (frame) =>
  id(frame, 'id') ?? id(frame, 'trigger_type') ?? id(frame, 'function_id') ?? error(frame);

const invoke: Guard = (frame) =>
  optionalId(frame, 'invocation_id') ??
  id(frame, 'function_id') ??
  (frame.data === undefined ? 'data is missing: send {} where there is none' : null) ??
  traced(frame) ??
  action(frame.action);

const result: Guard = (frame) =>
  id(frame, 'invocation_id') ?? id(frame, 'function_id') ?? traced(frame) ?? error(frame);

const nothing: Guard = () => null;

const workerGuards: Readonly<Record<string, Guard>> = {
  invokefunction: invoke,
  invocationresult: result,
  reattach: (frame) => id(frame, 'previous_worker_id') ?? optionalText(frame, 'reattach_token'),
  registerfunction: (frame) => id(frame, 'id') ?? optionalText(frame, 'description'),
  unregisterfunction: (frame) => id(frame, 'id'),
  registertriggertype: (frame) => id(frame, 'id') ?? text(frame, 'description'),
  unregistertriggertype: (frame) => id(frame, 'id'),
  registertrigger: trigger,
  unregistertrigger: (frame) => id(frame, 'id') ?? optionalId(frame, 'trigger_type'),
  triggerregistrationresult: triggerResult,
  registerservice: (frame) => id(frame, 'id'),
  ping: nothing,
  pong: nothing,
};

const engineGuards: Readonly<Record<string, Guard>> = {
  invokefunction: invoke,
  invocationresult: result,
  workerregistered: (frame) => id(frame, 'worker_id') ?? optionalText(frame, 'reattach_token'),
  registertrigger: trigger,
  unregistertrigger: (frame) => id(frame, 'id') ?? optionalId(frame, 'trigger_type'),
  triggerregistrationresult: triggerResult,
  registrationrejected: (frame) => text(frame, 'code'),
  error,
  ping: nothing,
  pong: nothing,
};

function id(frame: Fields, name: string): string | null {
  const value = frame[name];
  if (typeof value !== 'string') return `${name} ${shown(value)}: must be a string`;
  if (value.length === 0 || value.length > maxIdLength)
    return `${name} has ${value.length} characters: must have 1 to ${maxIdLength}`;
  return null;
}

function optionalId(frame: Fields, name: string): string | null {
  return frame[name] === undefined || frame[name] === null ? null : id(frame, name);
}

function text(frame: Fields, name: string): string | null {
  const value = frame[name];
  return typeof value === 'string' ? null : `${name} ${shown(value)}: must be a string`;
}

function optionalText(frame: Fields, name: string): string | null {
  return frame[name] === undefined || frame[name] === null ? null : text(frame, name);
}

function traced(frame: Fields): string | null {
  return optionalText(frame, 'traceparent') ?? optionalText(frame, 'baggage');
}

function action(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  const { type, queue } = value as Fields;
  if (type === 'void' || (type === 'enqueue' && typeof queue === 'string')) return null;
  return `action ${shown(value)}: must be {"type":"void"} or {"type":"enqueue","queue":NAME}`;
}

function error(frame: Fields): string | null {
  const value = frame.error;
  if (value === undefined || value === null) return null;
  const { code, message } = value as Fields;
  if (typeof code === 'string' && typeof message === 'string') return null;
  return `error ${shown(value)}: must have a code and a message`;
}

const joined = new WeakMap<object, string>();

/** Made once: floods of unknown types must not cost more than they have to. */
function choices(guards: Readonly<Record<string, Guard>>): string {
  let text = joined.get(guards);
  if (text === undefined) {
    text = Object.keys(guards).join(', ');
    joined.set(guards, text);
  }
  return text;
}

function shown(value: unknown): string {
  if (value === undefined) return 'is missing';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'is a list' : 'is an object';
  const json = JSON.stringify(value);
  return `is ${json.length > 80 ? `${json.slice(0, 79)}…` : json}`;
}

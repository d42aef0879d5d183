import type {
  FrameFault,
  RegisterFunction,
  RegisterTrigger,
  RegisterTriggerType,
  WorkerFrame,
} from '#kit/contracts/bus/frames.ts';
import { messageOf } from '#kit/errors.ts';
import type { Calls } from './calls/calls.ts';
import type { Functions, Rejection } from './registry/functions.ts';
import type { Workers } from './registry/workers.ts';
import { registrationCost, type Trigger, TriggerRefused } from './triggers/trigger.ts';
import { refusalOf, type Triggers } from './triggers/triggers.ts';
import type { Connection } from './wire/connection.ts';

export interface DispatchParts {
  readonly workers: Workers;
  readonly functions: Functions;
  readonly triggers: Triggers;
  readonly calls: Calls;
}

export class Dispatch {
  readonly #parts: DispatchParts;

  constructor(parts: DispatchParts) {
    this.#parts = parts;
  }

  frame(connection: Connection, frame: WorkerFrame): void {
    const { calls, functions, triggers, workers } = this.#parts;
    switch (frame.type) {
      case 'invokefunction':
        calls.invoke(connection, frame);
        break;
      case 'invocationresult':
        calls.result(connection, frame);
        break;
      case 'registerfunction':
        this.#registerFunction(connection, frame);
        break;
      case 'unregisterfunction':
        functions.unregister(connection, frame.id);
        break;
      case 'registertriggertype':
        this.#registerTriggerType(connection, frame);
        break;
      case 'unregistertriggertype':
        triggers.unregisterType(connection, frame.id);
        break;
      case 'registertrigger':
        this.#registerTrigger(connection, frame);
        break;
      case 'unregistertrigger':
        triggers.unregister(frame.id, connection.token);
        break;
      case 'triggerregistrationresult':
        triggers.result(connection, frame);
        break;
      case 'reattach':
        workers.replacedBy(connection, frame)?.terminate();
        break;
      case 'ping':
        connection.send({ type: 'pong' });
        break;
      case 'pong':
      case 'registerservice':
        break;
      default:
        frame satisfies never;
    }
  }

  /** Who waits for an answer gets one. */
  fault(connection: Connection, { reason, frame }: FrameFault): void {
    if (frame === null) return;
    const idIn = (member: string) => (isId(frame[member]) ? frame[member] : '');
    const [id, invocation_id, functionId] = [idIn('id'), idIn('invocation_id'), idIn('function_id')];
    const error = { code: 'invalid_frame', message: reason };
    const { type } = frame;
    if (type === 'invokefunction' && invocation_id !== '')
      connection.send({ type: 'invocationresult', invocation_id, function_id: functionId, error });
    if (type === 'registerfunction' && id !== '')
      sendRefusal(connection, 'function', id, { ...error, owner: null });
    if (type === 'registertrigger' && id !== '') {
      const trigger = { id, type: idIn('trigger_type'), functionId };
      connection.send(refusalOf(trigger, 'trigger_registration_failed', reason));
    }
    if (type === 'invocationresult' && invocation_id !== '') {
      // Better a call that fails than one that never ends.
      const message = `the worker's answer cannot be used: ${reason}`;
      const failed = { code: 'invocation_failed', message };
      this.#parts.calls.result(connection, { type, invocation_id, function_id: '', error: failed });
    }
  }

  #registerFunction(connection: Connection, frame: RegisterFunction): void {
    const rejection = this.#rejectionOf(connection, frame);
    if (rejection === null) return;
    const { code, message } = rejection;
    connection.refused(`function not taken: ${message}`, { code });
    sendRefusal(connection, 'function', frame.id, rejection);
  }

  /** Registers it where there is none. */
  #rejectionOf(connection: Connection, frame: RegisterFunction): Rejection | null {
    const refused = this.#readOnly(connection);
    if (refused !== null) return { code: 'FORBIDDEN', message: refused, owner: null };
    if (frame.invocation == null) return this.#parts.functions.register(connection, frame);
    const message = `function ${frame.id}: this engine calls no HTTP addresses; call it from a worker`;
    return { code: 'http_invocation_refused', message, owner: null };
  }

  #registerTriggerType(connection: Connection, frame: RegisterTriggerType): void {
    const refused = this.#readOnly(connection) ?? this.#parts.triggers.registerType(connection, frame);
    if (refused === null) return;
    connection.refused(`trigger type not taken: ${refused}`);
    const rejection = { code: 'trigger_type_refused', message: refused, owner: null };
    sendRefusal(connection, 'trigger type', frame.id, rejection);
  }

  #registerTrigger(connection: Connection, frame: RegisterTrigger): void {
    const trigger: Trigger = {
      id: frame.id,
      type: frame.trigger_type,
      functionId: frame.function_id,
      config: frame.config,
      metadata: frame.metadata ?? null,
      owner: connection,
      token: connection.token,
    };
    try {
      const refused = this.#readOnly(connection);
      if (refused !== null) throw new TriggerRefused(refused);
      connection.charge(registrationCost(trigger));
      const waits = this.#parts.triggers.register(trigger);
      if (waits !== null) throw new TriggerRefused(waits);
    } catch (error) {
      connection.refused(`trigger not taken: ${messageOf(error)}`);
      const message = error instanceof TriggerRefused ? error.message : 'the trigger cannot be stored';
      connection.send(refusalOf(trigger, 'trigger_registration_failed', message));
    }
  }

  #readOnly({ mayCall, token }: Connection): string | null {
    return mayCall ? null : `token ${token} has no scope plan: it can call engine:: functions only`;
  }
}

/** In two frames: the SDK of 0.22.1 passes over the first, and prints the second, as it does when a trigger is refused. */
function sendRefusal(
  connection: Connection,
  what: 'function' | 'trigger type',
  id: string,
  { code, message, owner }: Rejection,
): void {
  const functionId = what === 'function' ? id : '';
  connection.send({
    type: 'registrationrejected',
    code,
    message,
    ...(functionId === '' ? {} : { function_id: functionId }),
    ...(owner === null ? {} : { owner_worker_id: owner.id }),
  });
  connection.send(refusalOf({ id, type: what, functionId }, code, message));
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 500;
}

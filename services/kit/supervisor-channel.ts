import * as t from 'io-ts';
import { matches } from './decode.ts';

/** Messages of a service to `./core up`, which started it with a channel. */
const SupervisorMessage = t.union([
  t.strict({ serving: t.literal(true) }),
  t.strict({ bus_connected: t.boolean }),
]);
export type SupervisorMessage = t.TypeOf<typeof SupervisorMessage>;

export function reportBusConnected(bus_connected: boolean): void {
  send({ bus_connected });
}

/** Reports that requests are answered from now on, so that nobody has to poll. */
export function reportServing(): void {
  send({ serving: true });
}

/** null for any other message. */
export function supervisorMessageIn(message: unknown): SupervisorMessage | null {
  return matches(SupervisorMessage, message) ? (message as SupervisorMessage) : null;
}

/** Level of messages that `./core up` prints itself for the services that it started. */
export function startupLogLevel(): 'debug' | 'info' {
  return process.connected === true ? 'debug' : 'info';
}

/** Milliseconds that answers under way may take at the end: `./core up` has everything ended within three seconds. */
export function shutdownGraceMs(): number {
  return process.connected === true ? 1_000 : 5_000;
}

/** Nobody listens where the service was started in another way. */
function send(message: SupervisorMessage): void {
  if (process.connected !== true) return;
  // The supervisor may be ending: the error goes to this callback.
  process.send?.(message, undefined, undefined, () => {});
}

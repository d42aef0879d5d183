import * as t from 'io-ts';
import { matches } from './decode.ts';

/** What a service says to `./core up`, which started it with a channel: `serving` once, and how it is with the bus. */
const SupervisorMessage = t.union([
  t.strict({ serving: t.literal(true) }),
  t.strict({ bus_connected: t.boolean }),
]);
export type SupervisorMessage = t.TypeOf<typeof SupervisorMessage>;

/** Says whether the bus is reached. */
export function reportBusConnected(bus_connected: boolean): void {
  send({ bus_connected });
}

/** Says that requests are answered from now on, so that nobody has to ask again and again. */
export function reportServing(): void {
  send({ serving: true });
}

/** null for a message that says something else. */
export function supervisorMessageIn(message: unknown): SupervisorMessage | null {
  return matches(SupervisorMessage, message) ? (message as SupervisorMessage) : null;
}

/** Level for news that `./core up` tells by itself of the services that it started. */
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
  // A supervisor that is just going away hears nothing.
  process.send?.(message, undefined, undefined, () => {});
}

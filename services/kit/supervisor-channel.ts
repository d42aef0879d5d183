import * as t from 'io-ts';
import { matches } from './decode.ts';

/** What a service says to `./core up`, which started it with a channel. */
const BusMessage = t.strict({ bus_connected: t.boolean });

/** Says whether the bus is reached; nobody listens where the service was started in another way. */
export function tellSupervisor(bus_connected: boolean): void {
  if (process.connected !== true) return;
  // A supervisor that is just going away hears nothing.
  process.send?.({ bus_connected } satisfies t.TypeOf<typeof BusMessage>, undefined, undefined, () => {});
}

/** null for a message that says something else. */
export function busConnectedIn(message: unknown): boolean | null {
  return matches(BusMessage, message) ? (message as t.TypeOf<typeof BusMessage>).bus_connected : null;
}

import * as t from 'io-ts';
import { nullable, oneOf, Timestamp } from '../decode.ts';
import { LeaseHolder } from './lease-holder.ts';

/** What is known of the process of a supervised service; `waiting` starts again by itself, `given_up` does not. */
export const SupervisedState = oneOf(['running', 'waiting', 'given_up']);

export const SupervisedNote = t.strict({
  state: SupervisedState,
  /** null while there is no process. */
  pid: nullable(t.number),
  /** Of this state. */
  since: Timestamp,
  restarts: t.number,
  /** How the process before ended, for example `SIGKILL`; null where none did. */
  last_end: nullable(t.string),
  /** Of its HTTP interface; null where it has none. */
  url: nullable(t.string),
  /** Whether it reaches the bus, as it says; null where it says nothing of it. */
  bus_connected: nullable(t.boolean),
});
export type SupervisedNote = t.TypeOf<typeof SupervisedNote>;

/** `<state>/supervisor/stack.json`: what `./core up` says of its children, for `core-status`. */
export const StackNote = t.strict({
  holder: LeaseHolder,
  since: Timestamp,
  services: t.record(t.string, SupervisedNote),
  /** Services that it does not start, with the reason. */
  left: t.record(t.string, t.string),
});
export type StackNote = t.TypeOf<typeof StackNote>;

export const stackFolder = 'supervisor';
export const stackNoteName = 'stack.json';

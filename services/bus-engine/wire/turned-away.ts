import type { WebSocket } from 'ws';
import type { EngineFrame } from '#kit/contracts/bus/frames.ts';
import { stringMembers } from './json-scan.ts';

/** So long, in milliseconds, what a worker sends as soon as it is connected is answered. */
const patienceMs = 1_000;

/**
 * Tells a worker that may not connect why, on the websocket itself: the official SDK connects again and again, shows nobody with what
 * an upgrade or a close was refused, and prints the reason of a registration that failed. Its calls fail with the reason too.
 */
export function turnAway(ws: WebSocket, reason: string): void {
  const error = { code: 'AUTH_ERROR', message: reason };
  const send = (frame: EngineFrame) => ws.send(JSON.stringify(frame));
  ws.on('error', () => {});
  ws.on('message', (data) => {
    const { type, invocation_id, function_id = '' } = stringMembers(data as Buffer);
    if (type === 'invokefunction' && invocation_id !== undefined)
      send({ type: 'invocationresult', invocation_id, function_id, error });
  });
  send({ type: 'error', error });
  send({
    type: 'triggerregistrationresult',
    id: 'connection',
    trigger_type: 'AUTH_ERROR',
    function_id: '',
    error,
  });
  const close = setTimeout(() => ws.close(1008, reason.slice(0, 120)), patienceMs);
  const end = setTimeout(() => ws.terminate(), 2 * patienceMs);
  ws.on('close', () => {
    clearTimeout(close);
    clearTimeout(end);
  });
}

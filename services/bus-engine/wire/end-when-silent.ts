import type { WebSocket } from 'ws';

const usualMs = 60_000;

/** Asks the other end whether it is there, and ends what gives no sign for so long. One that was told to wait is not asked. */
export function endWhenSilent(ws: WebSocket, silentMs: number = usualMs): void {
  let heard = true;
  const hear = () => {
    heard = true;
  };
  ws.on('message', hear);
  ws.on('pong', hear);
  const look = setInterval(() => {
    if (ws.isPaused) return;
    if (!heard) return ws.terminate();
    heard = false;
    ws.ping();
  }, silentMs / 2);
  look.unref();
  ws.on('close', () => clearInterval(look));
}

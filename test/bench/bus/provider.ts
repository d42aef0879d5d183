import { WebSocket } from 'ws';
import { provide, type Target } from './peers.ts';

/** Provides the echo function at a given address, and makes a crowd of workers that have nothing to do. */
type Order =
  | { readonly provide: Target }
  | { readonly crowd: Target; readonly workers: number; readonly functions: number };

process.on('message', async (order: Order) => {
  if ('provide' in order) await provide(order.provide);
  else await crowd(order);
  process.send!('done');
});
process.on('disconnect', () => process.exit());

async function crowd({
  crowd: { url, headers },
  workers,
  functions,
}: Extract<Order, { crowd: Target }>): Promise<void> {
  for (let worker = 0; worker < workers; worker++) {
    const socket = new WebSocket(url, { headers, perMessageDeflate: false });
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    for (let nth = 0; nth < functions / workers; nth++)
      socket.send(JSON.stringify({ type: 'registerfunction', id: `bench.crowd.${worker}.${nth}` }));
    socket.send('{"type":"ping"}');
    await new Promise<void>((resolve) => {
      socket.on('message', (data) => {
        if (String(data) === '{"type":"pong"}') resolve();
      });
    });
  }
}

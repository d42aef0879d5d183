import { registerWorker } from 'iii-sdk';
import { WebSocket } from 'ws';

export type Kind = 'sdk' | 'raw';

export interface Target {
  readonly kind: Kind;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Calls the echo function once. */
export type Call = () => Promise<unknown>;

export const echo = 'bench.echo';
const payload = { words: 'a small one' };
// The SDK logs each connection on the console.
console.debug = () => {};

function sdk({ url, headers }: Target, workerName: string) {
  return registerWorker(url, {
    workerName,
    headers: { ...headers },
    enableMetricsReporting: false,
    otel: { enabled: false },
  });
}

async function raw({ url, headers }: Target): Promise<WebSocket> {
  const socket = new WebSocket(url, { headers, perMessageDeflate: false });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  return socket;
}

export async function provide(target: Target): Promise<void> {
  if (target.kind === 'sdk') {
    sdk(target, 'provider').registerFunction(echo, async (data) => data as object);
    return;
  }
  const socket = await raw(target);
  socket.send(JSON.stringify({ type: 'registerfunction', id: echo }));
  socket.on('message', (bytes) => {
    const { type, invocation_id, function_id, data } = JSON.parse(String(bytes));
    if (type !== 'invokefunction') return;
    socket.send(JSON.stringify({ type: 'invocationresult', invocation_id, function_id, result: data }));
  });
}

export async function call(target: Target): Promise<Call> {
  if (target.kind === 'sdk') {
    const client = sdk(target, 'caller');
    return () => client.trigger({ function_id: echo, payload });
  }
  const socket = await raw(target);
  const waiting = new Map<string, (result: unknown) => void>();
  socket.on('message', (bytes) => {
    const { type, invocation_id, result, error } = JSON.parse(String(bytes));
    if (type !== 'invocationresult') return;
    if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
    waiting.get(invocation_id)?.(result);
    waiting.delete(invocation_id);
  });
  return () =>
    new Promise((resolve) => {
      const invocation_id = crypto.randomUUID();
      waiting.set(invocation_id, resolve);
      socket.send(
        JSON.stringify({ type: 'invokefunction', invocation_id, function_id: echo, data: payload }),
      );
    });
}

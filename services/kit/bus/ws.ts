import { createRequire, registerHooks } from 'node:module';
import type * as Ws from 'ws';

/**
 * The library `ws`, without the TLS that it loads for every address: as long as half of starting Node, for what hardly any
 * bus of one machine has. It is loaded with the first address that needs it.
 */
export const { WebSocket, WebSocketServer } = loadWithoutTls();
export type WebSocket = Ws.WebSocket;

function loadWithoutTls(): Pick<typeof Ws, 'WebSocket' | 'WebSocketServer'> {
  const lazy = new URL('./lazy-tls.cjs', import.meta.url).href;
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier !== 'https' && specifier !== 'tls') return next(specifier, context);
      return { url: lazy, format: 'commonjs', shortCircuit: true };
    },
  });
  try {
    return createRequire(import.meta.url)('ws') as typeof Ws;
  } finally {
    hooks.deregister();
  }
}

import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * A port at which nothing listens, below those that a system gives to who asks for any: nobody gets it by chance until it
 * is used.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

import { writeSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { pipeline } from 'node:stream';

/*
 * Runs inside a sandbox, alone in its folder, so that it imports nothing but Node: `relay FOLDER PORT,PORT…` leads each port of the
 * loopback to the socket of that name in the folder, and prints `open` once it does. Plain JavaScript, because stripping types more
 * than doubles the time of its start, for which an agent may wait.
 */
const [folder, ports] = process.argv.slice(2);

// It stays while the sandbox does, also where the command signals its whole process group.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']) process.on(signal, () => {});
await Promise.all(ports.split(',').map(listen));
writeSync(1, 'open\n');

/** @param {string} port */
function listen(port) {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (inner) => {
    const outer = connect({ path: `${folder}/${port}`, allowHalfOpen: true });
    pipeline(inner, outer, inner, () => {});
  });
  return new Promise((resolve) => server.listen(Number(port), '127.0.0.1', () => resolve(undefined)));
}

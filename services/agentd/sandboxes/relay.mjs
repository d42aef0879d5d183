import { spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { constants } from 'node:os';
import { pipeline } from 'node:stream';

/*
 * Runs inside a sandbox, alone in its folder, so that it imports nothing but Node: `relay FOLDER PORT,PORT… COMMAND…` leads each
 * port of the loopback to the socket of that name in the folder, then becomes the command in all that its parent sees. Plain
 * JavaScript, because stripping types more than doubles the time of its start, for which every agent waits.
 */
const [folder, ports, command, ...args] = process.argv.slice(2);

await Promise.all(ports.split(',').map(listen));
const child = spawn(command, args, { stdio: 'inherit' });
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']) {
  process.on(signal, () => child.kill(signal));
}
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
child.on('error', () => process.exit(127));

/** @param {string} port */
function listen(port) {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (inner) => {
    const outer = connect({ path: `${folder}/${port}`, allowHalfOpen: true });
    pipeline(inner, outer, inner, () => {});
  });
  return new Promise((resolve) => server.listen(Number(port), '127.0.0.1', () => resolve(undefined)));
}

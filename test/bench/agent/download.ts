import { request } from 'node:http';

/** Prints the bytes per second at which the answer of `download PORT` comes. */
const began = performance.now();
let bytes = 0;
request(
  { host: '127.0.0.1', port: Number(process.argv[2]), path: '/v1/messages', method: 'POST' },
  (answer) => {
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    answer.on('end', () => process.stdout.write(`${(bytes * 1000) / (performance.now() - began)}\n`));
  },
).end('{}');

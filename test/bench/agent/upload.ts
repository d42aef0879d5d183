import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A process that answers every request with many bytes: on a port, which it prints, and on the socket `upload BYTES SOCKET`. */
const [bytes, socket] = process.argv.slice(2) as [string, string];
const piece = Buffer.alloc(64 * 1024, 'x');
for (const place of [0, socket]) {
  const server = createServer((request, response) => {
    request.resume();
    let left = Number(bytes);
    const write = () => {
      while (left > 0) {
        left -= piece.length;
        if (!response.write(piece)) return void response.once('drain', write);
      }
      response.end();
    };
    write();
  });
  if (place === 0) {
    server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
  } else server.listen(place);
}

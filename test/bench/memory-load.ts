import { connect, type Socket } from 'node:net';

/**
 * Records memories as so many clients, each with a connection of its own and one request at a time, whenever the parent process says
 * how many; answers with the rate. It shares the machine with what it measures: plain sockets cost it least.
 */
const [url, token, connections] = process.argv.slice(2) as [string, string, string];
const { host, hostname, port } = new URL(url);
let recorded = 0;

function open(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => resolve(socket.off('error', reject)));
    socket.setNoDelay(true).once('error', reject);
  });
}

function request(): string {
  const content = `Request ${recorded++} told that the deployment of the service waits for the second reviewer. It went on after the break.`;
  const body = JSON.stringify({ layer: 'semantic', content, source: 'bench' });
  const head = `POST /v1/memory/record HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}`;
  return `${head}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Asks, one request after the other, while `isNext` says so. */
function ask(socket: Socket, isNext: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const end = (error?: Error) => {
      socket.off('data', take).off('close', closed);
      if (error === undefined) resolve();
      else reject(error);
    };
    const closed = () => end(new Error(`the connection was closed within ${JSON.stringify(answer)}`));
    const next = () => (isNext() ? socket.write(request()) : end());
    const take = (bytes: Buffer) => {
      answer += bytes.toString('latin1');
      if (!isWhole(answer)) return;
      if (!answer.startsWith('HTTP/1.1 201 ') || !answer.includes('"created":true')) end(new Error(answer));
      else next();
      answer = '';
    };
    socket.on('data', take).on('close', closed);
    next();
  });
}

function isWhole(answer: string): boolean {
  const headEnd = answer.indexOf('\r\n\r\n');
  if (headEnd < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(answer.slice(0, headEnd))![1];
  return answer.length === headEnd + 4 + Number(length);
}

process.on('message', async (requests: number) => {
  // The server closes connections on which nothing is asked for long.
  const sockets = await Promise.all(Array.from({ length: Number(connections) }, open));
  const started = performance.now();
  let left = requests;
  await Promise.all(sockets.map((socket) => ask(socket, () => left-- > 0)));
  const rate = (requests * 1000) / (performance.now() - started);
  for (const socket of sockets) socket.destroy();
  process.send!(rate);
});
process.once('disconnect', () => process.exit());

import { WebSocket } from 'ws';

/** A worker that sends frames as fast as they are taken, half of them broken, until its parent ends it. */
const [url, authorization] = process.argv.slice(2) as [string, string];
const socket = new WebSocket(url, { headers: { authorization }, perMessageDeflate: false });
let sent = 0;

function flood(): void {
  for (let nth = 0; nth < 500 && socket.bufferedAmount < 1_000_000; nth++, sent++)
    socket.send(sent % 2 === 0 ? '{"type":"dance"}' : '{"type":');
  setImmediate(flood);
}

socket.once('open', () => {
  process.send!('flooding');
  flood();
});
socket.once('close', () => process.exit(1));
process.once('disconnect', () => process.exit());

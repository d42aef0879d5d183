import { WebSocket } from 'ws';

/** A worker that sends frames as fast as they are taken until its parent ends it: broken ones, or calls that nobody answers. */
const [url, authorization, kind] = process.argv.slice(2) as [string, string, 'broken' | 'calls'];
const frames = {
  broken: ['{"type":"dance"}', '{"type":'],
  calls: ['{"type":"invokefunction","function_id":"nobody","data":{},"action":{"type":"void"}}'],
}[kind];
const socket = new WebSocket(url, { headers: { authorization }, perMessageDeflate: false });
let sent = 0;

function flood(): void {
  for (let nth = 0; nth < 500 && socket.bufferedAmount < 1_000_000; nth++, sent++)
    socket.send(frames[sent % frames.length]!);
  setImmediate(flood);
}

socket.once('open', () => {
  process.send!('flooding');
  flood();
});
socket.once('close', () => process.exit(1));
process.once('disconnect', () => process.exit());

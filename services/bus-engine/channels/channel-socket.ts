import type { RawData, WebSocket } from 'ws';
import type { Channel } from './channel.ts';

/** Bytes that may wait for a reader before its writer has to. */
const highWater = 256 * 1024;

/** Joins a websocket to one end of a channel. @returns false where that end is taken */
export function joinChannel(ws: WebSocket, channel: Channel, direction: 'read' | 'write'): boolean {
  ws.on('error', () => {});
  return direction === 'write' ? writeFrom(ws, channel) : readTo(ws, channel);
}

function writeFrom(ws: WebSocket, channel: Channel): boolean {
  const taken = channel.write({
    pause: () => ws.pause(),
    resume: () => ws.resume(),
    end: () => ws.close(1000),
  });
  if (!taken) return false;
  ws.on('message', (data: RawData, isBinary) => {
    channel.item(isBinary ? (data as Buffer) : (data as Buffer).toString());
  });
  ws.on('close', () => channel.endWriting());
  return true;
}

function readTo(ws: WebSocket, channel: Channel): boolean {
  let behind = false;
  ws.on('close', () => channel.endReading());
  return channel.read({
    item(item) {
      ws.send(item, () => {
        if (!behind || ws.bufferedAmount > 0) return;
        behind = false;
        channel.keepUp(true);
      });
      if (behind || ws.bufferedAmount < highWater) return;
      behind = true;
      channel.keepUp(false);
    },
    end: () => ws.close(1000),
  });
}

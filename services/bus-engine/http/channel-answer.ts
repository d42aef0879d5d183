import type { ServerResponse } from 'node:http';
import type { Channel, ChannelItem } from '../channels/channel.ts';
import { headersOf, statusOf } from './answer.ts';

/**
 * An answer that a function writes piece by piece: text items set the status and headers, bytes are the body.
 * @param done called when the function has written everything
 */
export function answerFrom(channel: Channel, response: ServerResponse, done: () => void): void {
  let status = 200;
  let headers: Record<string, string> = {};

  function begin(): void {
    if (!response.headersSent) response.writeHead(status, headers);
  }

  function control(text: string): void {
    const message = messageIn(text);
    if (message?.type === 'set_status') status = statusOf(message.status_code);
    if (message?.type === 'set_headers') headers = { ...headers, ...headersOf(message.headers) };
  }

  response.on('drain', () => channel.keepUp(true));
  response.on('close', () => channel.endReading());
  channel.read({
    item(item: ChannelItem) {
      if (response.writableEnded || response.destroyed) return;
      try {
        if (typeof item === 'string') return control(item);
      } catch {
        // What it set is none of HTTP; the answer goes without it.
        return;
      }
      begin();
      if (!response.write(item)) channel.keepUp(false);
    },
    end() {
      if (!channel.hasWriter || response.writableEnded) return;
      begin();
      response.end();
      done();
    },
  });
}

function messageIn(text: string): Record<string, unknown> | null {
  try {
    const message: unknown = JSON.parse(text);
    return typeof message === 'object' ? (message as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { messageOf } from '#kit/errors.ts';
import type { Channel, ChannelItem } from '../channels/channel.ts';
import { type Headers, headersOf, type PassedOver, statusOf } from './answer.ts';

/**
 * An answer that a function writes piece by piece: text items set the status and headers, bytes are the body.
 * @param watch.done called when the function has written everything
 */
export function answerFrom(
  channel: Channel,
  response: ServerResponse,
  watch: { readonly passedOver: PassedOver; readonly done: () => void },
): void {
  let status = 200;
  let headers: Headers = {};

  function begin(): void {
    if (!response.headersSent) response.writeHead(status, headers as OutgoingHttpHeaders);
  }

  function control(text: string): void {
    const message = messageIn(text);
    if (message?.type === 'set_status') status = statusOf(message.status_code);
    if (message?.type === 'set_headers')
      headers = { ...headers, ...headersOf(message.headers, watch.passedOver) };
  }

  response.on('drain', () => channel.keepUp(true));
  response.on('close', () => channel.endReading());
  channel.read({
    item(item: ChannelItem) {
      if (response.writableEnded || response.destroyed) return;
      try {
        if (typeof item === 'string') return control(item);
      } catch (error) {
        watch.passedOver(messageOf(error));
        return;
      }
      begin();
      if (!response.write(item)) channel.keepUp(false);
    },
    end() {
      if (!channel.hasWriter || response.writableEnded) return;
      begin();
      response.end();
      watch.done();
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

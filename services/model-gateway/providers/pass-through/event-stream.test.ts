import { Readable } from 'node:stream';
import { expect } from 'chai';
import { chat } from '../../dialects/chat/chat.ts';
import { Mask } from '../mask.ts';
import { EventReader } from './event-reader.ts';
import { eventsOf, firstOf } from './event-stream.ts';

const event = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
const end = `data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`;

describe('The events of a stream', () => {
  function opened(...pieces: readonly string[]) {
    const reader = new EventReader({ wire: chat.wire.events, hideUsage: false, mask: new Mask([]) });
    const body = Readable.from(pieces.map((piece) => Buffer.from(piece)));
    return { reader, events: eventsOf(body, reader) };
  }

  it('give the first on before those that came with it are read', async () => {
    const { reader, events } = opened(`${event('one')}${event('two')}${event('three')}${end}`);
    expect(await firstOf(events, reader)).to.equal(event('one'));
    expect(reader.done).to.equal(false);
    expect((await events.next()).value).to.equal(`${event('two')}${event('three')}${end}`);
    expect(reader.done).to.equal(true);
    expect((await events.next()).done).to.equal(true);
  });

  it('are the same in whatever pieces they come', async () => {
    const whole = `${event('one')}${event('two')}${end}`;
    for (let cut = 1; cut < whole.length; cut++) {
      const { events } = opened(whole.slice(0, cut), whole.slice(cut));
      let text = '';
      for await (const next of events) text += next;
      expect(text, `cut at ${cut}`).to.equal(whole);
    }
  });
});

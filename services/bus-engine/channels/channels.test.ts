import { expect } from 'chai';
import { Channels, type OpenedChannel } from './channels.ts';

describe('channels', () => {
  let now: number;
  let channels: Channels;

  beforeEach(() => {
    now = 0;
    channels = new Channels(() => now);
  });

  async function itemsOf({ channel }: OpenedChannel, count: number): Promise<string[]> {
    const reader = channel.read()!;
    const items: string[] = [];
    while (items.length < count) {
      const { done, value } = await reader.read();
      items.push(done ? 'end' : String(value));
    }
    return items;
  }

  it('are opened by their keys, each end by its own', () => {
    const { writer: write, reader: read, channel } = channels.open()!;
    expect(channels.find(write.channel_id, write.access_key, 'write')).to.equal(channel);
    expect(channels.find(read.channel_id, read.access_key, 'read')).to.equal(channel);
    expect(channels.find(read.channel_id, read.access_key, 'write')).to.equal(null);
    expect(channels.find(read.channel_id, '', 'read')).to.equal(null);
    expect(channels.find('none', read.access_key, 'read')).to.equal(null);
  });

  it('give what was written to who reads, in order, however late it comes', async () => {
    const opened = channels.open(2)!;
    const { channel } = opened;
    expect(channel.join(() => {})).to.equal(true);
    expect(channel.join(() => {})).to.equal(false);
    expect(channel.write('a')).to.equal(null);
    const room = channel.write(Buffer.from('b'));
    expect(room).to.be.instanceOf(Promise);
    void room!.then(() => {
      channel.write('c');
      channel.end();
    });
    expect(await itemsOf(opened, 4)).to.deep.equal(['a', 'b', 'c', 'end']);
    expect(channel.read()).to.equal(null);
  });

  it('hold a writer of few large items, too', async () => {
    const { channel } = channels.open(64)!;
    channel.join(() => {});
    const room = channel.write(Buffer.alloc(300_000));
    expect(room).to.be.instanceOf(Promise);
    void channel.read()!.read();
    await room;
    expect(channel.write('more')).to.equal(null);
  });

  it('report to the writer when nobody reads any more', async () => {
    const { channel } = channels.open()!;
    const ended = new Promise<void>((resolve) => channel.join(resolve));
    await channel.read()!.cancel();
    await ended;
    await channel.write('lost');
  });

  it('end when they are done with, or when an end does not come for five minutes', async () => {
    const done = channels.open()!;
    done.channel.join(() => {});
    const half = channels.open()!;
    const ended = new Promise<void>((resolve) => half.channel.join(resolve));
    const reading = itemsOf(done, 1);
    channels.sweep();
    expect(channels.size).to.equal(2);
    done.channel.end();
    expect(await reading).to.deep.equal(['end']);
    channels.sweep();
    expect(channels.size).to.equal(1);
    now = 5 * 60_000;
    channels.sweep();
    expect(channels.size).to.equal(0);
    await ended;
  });
});

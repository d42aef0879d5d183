import { expect } from 'chai';
import { type ChannelItem, Channels } from './channels.ts';

describe('channels', () => {
  let now: number;
  let channels: Channels;

  beforeEach(() => {
    now = 0;
    channels = new Channels(() => now);
  });

  function writer() {
    const said: string[] = [];
    return {
      said,
      pause: () => void said.push('pause'),
      resume: () => void said.push('resume'),
      end: () => void said.push('end'),
    };
  }

  function reader() {
    const items: (ChannelItem | null)[] = [];
    return { items, item: (item: ChannelItem) => void items.push(item), end: () => void items.push(null) };
  }

  it('are opened by their keys, each end by its own', () => {
    const { writer: write, reader: read, channel } = channels.open()!;
    expect(channels.find(write.channel_id, write.access_key, 'write')).to.equal(channel);
    expect(channels.find(read.channel_id, read.access_key, 'read')).to.equal(channel);
    expect(channels.find(read.channel_id, read.access_key, 'write')).to.equal(null);
    expect(channels.find(read.channel_id, '', 'read')).to.equal(null);
    expect(channels.find('none', read.access_key, 'read')).to.equal(null);
  });

  it('give what was written to who reads, in order, however late it comes', () => {
    const { channel } = channels.open(2)!;
    const [writing, reading] = [writer(), reader()];
    expect(channel.write(writing)).to.equal(true);
    expect(channel.write(writer())).to.equal(false);
    channel.item('a');
    channel.item(Buffer.from('b'));
    expect(writing.said).to.deep.equal(['pause']);
    expect(channel.read(reading)).to.equal(true);
    expect(channel.read(reader())).to.equal(false);
    expect(writing.said).to.deep.equal(['pause', 'resume']);
    channel.item('c');
    channel.endWriting();
    expect(reading.items.map((item) => item && String(item))).to.deep.equal(['a', 'b', 'c', null]);
  });

  it('hold a writer of few large items, too', () => {
    const { channel } = channels.open(64)!;
    const writing = writer();
    channel.write(writing);
    channel.item(Buffer.alloc(300_000));
    expect(writing.said).to.deep.equal(['pause']);
    channel.read(reader());
    expect(writing.said).to.deep.equal(['pause', 'resume']);
  });

  it('tell the writer when nobody reads any more', () => {
    const { channel } = channels.open()!;
    const writing = writer();
    channel.write(writing);
    channel.endReading();
    channel.item('lost');
    expect(writing.said).to.deep.equal(['end']);
  });

  it('end when they are done with, or when an end does not come for five minutes', () => {
    const done = channels.open()!;
    done.channel.write(writer());
    done.channel.read(reader());
    const half = channels.open()!;
    const waiting = writer();
    half.channel.write(waiting);
    channels.sweep();
    expect(channels.size).to.equal(2);
    done.channel.endWriting();
    channels.sweep();
    expect(channels.size).to.equal(1);
    now = 5 * 60_000;
    channels.sweep();
    expect(channels.size).to.equal(0);
    expect(waiting.said).to.deep.equal(['end']);
  });
});

import { expect } from 'chai';
import { canonicalJson, digestOf } from '#kit/digest.ts';
import { codeOf } from '#kit/errors.ts';
import type { NewEvent } from '../event.ts';
import { beforeFirst, readLine, soundEvents, wholeLines, writeLine } from './event-line.ts';

const at = '2026-01-02T03:04:05.000Z';
const cancelled = (message = 'enough'): NewEvent => ({ type: 'run_cancelled', data: { message } });
const bytesOf = (text: string): Uint8Array => Buffer.from(text.replace(/\n$/, ''));
const first = writeLine(beforeFirst, at, cancelled());

/** A line whose hash is right for what it says, however wrong that is. */
function forged(
  change: Partial<Record<'seq' | 'at' | 'type' | 'data' | 'prev' | 'hash', unknown>> = {},
): Buffer {
  const content = {
    seq: 2,
    at,
    type: 'run_cancelled',
    data: { message: '' },
    prev: first.event.hash,
    ...change,
  };
  const { seq, type, data, prev } = content;
  const hash = change.hash ?? digestOf({ seq, at: content.at, type, data, prev });
  return Buffer.from(
    `{"seq":${seq},"at":"${content.at}","type":"${type}","data":${canonicalJson(data)},"prev":"${prev}","hash":"${hash}"}`,
  );
}

function refusal(bytes: Uint8Array, head = first.event): string {
  try {
    readLine(bytes, head);
  } catch (error) {
    expect(codeOf(error)).to.equal('run_damaged');
    return (error as Error).message;
  }
  throw new Error('the line was read');
}

describe('a line of the event log', () => {
  it('is written in one way alone', () => {
    const { event, text } = writeLine(beforeFirst, at, cancelled('é'));
    const zeros = '0'.repeat(64);
    const hash = digestOf({ seq: 1, at, type: 'run_cancelled', data: { message: 'é' }, prev: zeros });
    expect(text).to.equal(
      `{"seq":1,"at":"${at}","type":"run_cancelled","data":{"message":"é"},"prev":"${zeros}","hash":"${hash}"}\n`,
    );
    expect(event).to.deep.equal({ seq: 1, at, ...cancelled('é'), prev: zeros, hash });
  });

  it('is read as it was written', () => {
    expect(readLine(bytesOf(first.text), beforeFirst)).to.deep.equal(first.event);
    const second = writeLine(first.event, at, cancelled());
    expect(readLine(bytesOf(second.text), first.event)).to.deep.equal(second.event);
    expect(readLine(forged(), first.event)).to.include({ seq: 2, prev: first.event.hash });
  });

  it('is refused with another seq than the next one, although its hash is right', () => {
    for (const seq of [1, 3]) {
      expect(refusal(forged({ seq }))).to.equal(`seq is ${seq} and must be 2`);
    }
    expect(refusal(forged({ seq: 2 }), { ...first.event, seq: 2 })).to.contain('must be 3');
  });

  it('is refused with another prev than the hash before, although its own hash is right', () => {
    const prev = 'a'.repeat(64);
    expect(refusal(forged({ prev }))).to.equal(`prev is ${prev} and must be the hash of the event before`);
  });

  it('is refused with another hash than that of its content', () => {
    const hash = 'a'.repeat(64);
    expect(refusal(forged({ hash }))).to.contain(`hash is ${hash}, but the content gives `);
  });

  it('is refused when any of its members is changed under its hash', () => {
    const line = forged().toString();
    for (const changed of [
      line.replace(at, '2026-01-02T03:04:06.000Z'),
      line.replace('run_cancelled', 'planning_started'),
      line.replace('"message":""', '"message":"x"'),
    ]) {
      expect(changed).not.to.equal(line);
      expect(refusal(Buffer.from(changed))).to.contain('but the content gives');
    }
  });

  it('is refused when it is written in another way', () => {
    const line = forged().toString();
    for (const other of [
      line.replace('"seq":2', '"seq":2.0'),
      line.replace('"seq":2,', '"seq": 2,'),
      line.replace('{"seq"', '{"more":1,"seq"'),
      line.replace('{"message":""}', '{"message":"","message":""}'),
      `${line} `,
      line.replace('"message":""', '"message":"\\u0041"'),
      `${JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(line)).toReversed()))}`,
    ]) {
      expect(other).not.to.equal(line);
      expect(refusal(Buffer.from(other)), other).to.equal('not written the way an event is written');
    }
  });

  it('is refused when it is no event', () => {
    expect(refusal(Buffer.from(''))).to.match(/^not an event: /);
    expect(refusal(Buffer.from('[]'))).to.equal('not an event: event: / is []: must be an object');
    expect(refusal(forged({ type: 'approved' }))).to.contain('not an event: event: /type is "approved"');
    expect(refusal(forged({ at: 'today' }))).to.contain('not an event: event: /at is "today"');
    expect(refusal(forged({ hash: 'A'.repeat(64) }))).to.contain('not an event: event: /hash is ');
  });

  it('is refused when its data is not that of its type, with the field', () => {
    const message = refusal(forged({ data: { message: 1 } }));
    expect(message).to.match(/^data of run_cancelled: \/message is 1/);
  });

  it('is refused with bytes that are not UTF-8, and not read with a replacement in their place', () => {
    const replaced = Buffer.from('\uFFFD');
    const line = forged({ data: { message: '\uFFFD' } });
    expect(readLine(line, first.event).data).to.deep.equal({ message: '\uFFFD' });
    const place = line.indexOf(replaced);
    const broken = Buffer.concat([
      line.subarray(0, place),
      Buffer.from([0xff]),
      line.subarray(place + replaced.length),
    ]);
    expect(refusal(broken)).to.match(/^not an event: /);
  });

  it('is refused with a byte order mark before it', () => {
    expect(refusal(Buffer.from(`\uFEFF${forged().toString()}`))).to.match(/^not an event: /);
  });

  it('is refused with a lone surrogate in its data, however that is escaped', () => {
    const line = forged().toString().replace('"message":""', '"message":"\\ud83d"');
    expect(refusal(Buffer.from(line))).to.match(/^not an event: /);
  });

  it('holds U+FFFD for a lone surrogate that a writer gives, in values and in names', () => {
    const facts = { 'half \udc00': ['\ud83d', '\ud83d\ude00', 1, null] };
    const { event, text } = writeLine(beforeFirst, at, {
      type: 'undo_intent',
      data: { undo_id: '\ud83d', action_id: 'a', facts },
    });
    expect(event.data).to.deep.equal({
      undo_id: '\uFFFD',
      action_id: 'a',
      facts: { 'half \uFFFD': ['\uFFFD', '\u{1F600}', 1, null] },
    });
    expect(readLine(bytesOf(text), beforeFirst)).to.deep.equal(event);
  });

  it('is not written with data that is not that of its type', () => {
    const wrong = { type: 'run_cancelled', data: { message: 1 } } as unknown as NewEvent;
    expect(() => writeLine(beforeFirst, at, wrong))
      .to.throw('event run_cancelled: /message is 1')
      .with.property('code', 'event_invalid');
  });

  it('has only what its type names', () => {
    const more = { type: 'run_cancelled', data: { message: 'm', more: 1 } } as NewEvent;
    expect(writeLine(beforeFirst, at, more).event.data).to.deep.equal({ message: 'm' });
  });
});

describe('the lines of the event log', () => {
  const second = writeLine(first.event, at, cancelled('second'));
  const log = Buffer.from(first.text + second.text);

  it('are those that end with a line feed, empty ones too', () => {
    const linesOf = (text: string) =>
      [...wholeLines(Buffer.from(text))].map(({ line, start }) => [start, Buffer.from(line).toString()]);
    expect(linesOf('')).to.deep.equal([]);
    expect(linesOf('torn')).to.deep.equal([]);
    expect(linesOf('\na\n\nbc\ntorn')).to.deep.equal([
      [0, ''],
      [1, 'a'],
      [3, ''],
      [4, 'bc'],
    ]);
  });

  it('are sound up to a torn one', () => {
    const sound = { events: [first.event, second.event], length: log.length, problem: null };
    expect(soundEvents(log)).to.deep.equal(sound);
    expect(soundEvents(Buffer.concat([log, log.subarray(0, 9)]))).to.deep.equal(sound);
    expect(soundEvents(Buffer.from(''))).to.deep.equal({ events: [], length: 0, problem: null });
  });

  it('are sound up to one that does not hold, whatever follows it', () => {
    const { events, length, problem } = soundEvents(Buffer.from(first.text + first.text + second.text));
    expect(events).to.deep.equal([first.event]);
    expect(length).to.equal(first.text.length);
    expect(codeOf(problem)).to.equal('run_damaged');
    expect(soundEvents(Buffer.from(`\n${log.toString()}`))).to.include({ length: 0 });
  });
});

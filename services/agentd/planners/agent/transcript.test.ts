import { expect } from 'chai';
import { Transcript, type TranscriptEntry } from './transcript.ts';

const secret = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
const limit = 64 * 1024;

describe('The transcript of an agent', () => {
  const transcript = () =>
    new Transcript(
      (text) => text.replaceAll(secret, '[masked]'),
      () => 1,
    );
  const entries = (from: Transcript) =>
    from
      .take(true)!
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as TranscriptEntry);

  it('masks a secret wherever an entry ends', () => {
    for (const before of [limit - 50, limit - 20, limit - 1, limit]) {
      const text = `${'x'.repeat(before - 1)} ${secret} and more`;
      const pieces = transcript();
      pieces.text('output', text.slice(0, before + 10));
      pieces.text('output', text.slice(before + 10));
      const whole = transcript();
      whole.text('output', text);
      const note = transcript();
      note.add({ type: 'note', text });
      for (const one of [pieces, whole, note]) {
        expect(JSON.stringify(entries(one)), String(before)).to.not.contain(secret.slice(0, 10));
      }
    }
  });

  it('keeps long texts in several entries, and of many files the first', () => {
    const one = transcript();
    one.text('message', 'word '.repeat(10_000));
    one.text('message', 'word '.repeat(40_000));
    const texts = entries(one).map((entry) => ('text' in entry ? entry.text : ''));
    expect(texts.length).to.be.above(2);
    expect(texts.join('')).to.equal('word '.repeat(50_000));
    const paths = Array.from({ length: 100_000 }, (_, number) => `/workspace/${number}`);
    one.add({ type: 'tool', title: 'Edit', kind: null, status: null, paths });
    expect(entries(one)[0]).to.have.property('paths').with.length(100);
  });
});

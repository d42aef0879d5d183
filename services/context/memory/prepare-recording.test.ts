import { expect } from 'chai';
import fc from 'fast-check';
import { digestOf } from '#kit/digest.ts';
import { prepareRecording, type Recording, recordingDigest } from './prepare-recording.ts';

const text = fc.string({ unit: 'grapheme' });
const maybe = fc.option(text);
const anyRecording: fc.Arbitrary<Recording> = fc.record({
  layer: fc.constantFrom('semantic', 'episodic', 'procedural'),
  content: text,
  kind: text,
  about: fc.array(text),
  source: maybe,
  subject: maybe,
  predicate: maybe,
  valid_from: maybe,
  valid_to: maybe,
  confidence: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
  session: maybe,
  seq: fc.option(fc.nat()),
  speaker: maybe,
  at: maybe,
  steps: fc.array(text),
});

describe('A recording', () => {
  it('has the digest of its canonical JSON, whatever the order of its members', () => {
    fc.assert(
      fc.property(anyRecording, (recording) => {
        expect(recordingDigest(recording)).to.equal(digestOf(recording));
        const turned = Object.fromEntries(Object.entries(recording).toReversed()) as unknown as Recording;
        expect(recordingDigest(turned)).to.equal(digestOf(recording));
      }),
    );
  });

  it('is told in one form, so that the same request has the same digest', () => {
    const one = prepareRecording({ layer: 'semantic', content: 'x', about: ['b', 'a', 'b'] });
    const other = prepareRecording({ layer: 'semantic', content: 'x', about: ['a', 'b'], kind: null });
    expect(one).to.deep.equal(other);
    expect(one.recording.about).to.deep.equal(['a', 'b']);
    expect(one.digest).to.equal(digestOf(one.recording));
  });
});

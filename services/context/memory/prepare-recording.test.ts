import { expect } from 'chai';
import { digestOf } from '#kit/digest.ts';
import { prepareRecording } from './prepare-recording.ts';

describe('A recording', () => {
  it('has one form, so that the same request has the same digest', () => {
    const one = prepareRecording({ layer: 'semantic', content: 'x', about: ['b', 'a', 'b'] });
    const other = prepareRecording({ layer: 'semantic', content: 'x', about: ['a', 'b'], kind: null });
    expect({ ...one, id: null, recorded_at: null }).to.deep.equal({ ...other, id: null, recorded_at: null });
    expect(one.digest).to.equal(digestOf(one.recording));
    expect(one.recording.about).to.deep.equal(['a', 'b']);
    expect(one.digest).to.equal(digestOf(one.recording));
  });
});

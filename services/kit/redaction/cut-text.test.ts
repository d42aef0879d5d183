import { expect } from 'chai';
import { secretSamples } from '../../../test/fixtures/redaction/secret-samples.ts';
import { cutText } from './cut-text.ts';

describe('A text that is cut for a message', () => {
  it('shows no beginning of a secret', () => {
    const token = secretSamples.github_token![0] as string;
    expect(cutText(`the token ${token} of mira`, 20)).to.equal('the token [redacted…');
  });

  it('is whole where it fits', () => {
    expect(cutText('1234567890', 10)).to.equal('1234567890');
    expect(cutText('12345678901', 10)).to.equal('123456789…');
  });
});

import { expect } from 'chai';
import { maskedText } from './masked-text.ts';
import { findSecrets } from './redactor.ts';

describe('What people write', () => {
  it('is masked with the short passwords that would be words of code elsewhere', () => {
    const text = 'the database has password=hunter2 since May';
    expect(maskedText(text)).to.equal('the database has password=[redacted password] since May');
    expect(findSecrets(text)).to.deep.equal([]);
  });

  it('stays as it is when it is masked again', () => {
    const once = maskedText('pwd: 12345678. Password: s3cret!');
    expect(once).to.equal('pwd: [redacted password]. Password: [redacted password]');
    expect(maskedText(once)).to.equal(once);
  });
});

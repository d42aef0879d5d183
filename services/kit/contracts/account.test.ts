import { expect } from 'chai';
import { identityKey, shownName, whose } from '../identity-name.ts';
import { accountName, isOf } from './account.ts';

describe('The name of an account at an identity provider', () => {
  const mira = { issuer: 'https://id.example.org', subject: '1' };

  it('is of issuer and subject, whatever stands before its mark', () => {
    const name = accountName(mira, 'mira@example.org');
    expect(name).to.match(/^mira@example\.org#[0-9a-f]{16}$/);
    expect(identityKey(accountName(mira, 'Mira M.'))).to.equal(identityKey(name));
    const others = [
      { ...mira, subject: '2' },
      { ...mira, issuer: 'https://id.example.org/' },
      { issuer: 'https://id.example.org1', subject: '' },
    ];
    for (const other of others) {
      expect(identityKey(accountName(other, 'mira@example.org'))).to.not.equal(identityKey(name));
      expect(isOf(other, name)).to.equal(false);
    }
    expect(isOf(mira, name)).to.equal(true);
  });

  it('is told from that of a token, and shown without its mark', () => {
    const name = accountName(mira, 'mira');
    expect([identityKey('mira'), shownName('mira'), whose('mira')]).to.deep.equal([
      'mira',
      'mira',
      "the token 'mira'",
    ]);
    expect([shownName(name), whose(name)]).to.deep.equal(['mira', name]);
    expect(isOf(mira, 'mira')).to.equal(false);
  });
});

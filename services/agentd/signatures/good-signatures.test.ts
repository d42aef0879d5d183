import { expect } from 'chai';
import { type Checked, remembered } from './good-signatures.ts';

const noon = { local: '20261128120000', utc: '20261128110000' };
let number = 0;

/** Signature that no other test checks. */
function sample(change: Partial<Checked> = {}): Checked {
  const checked = { text: 'a decision', namespace: 'core-approval', principal: 'kim', at: noon };
  return { ...checked, signers: 'kim ssh-ed25519 AAAA', signature: `signature ${number++}`, ...change };
}

/** Number of checks that run for these signatures, one after the other. */
function checks(...all: readonly Checked[]): number {
  let count = 0;
  for (const one of all) remembered(one, () => ({ key: `SHA256:${++count}` }));
  return count;
}

describe('A signature that was found good', () => {
  it('is not checked again, and has the same key', () => {
    const one = sample();
    expect(
      checks(one, { ...one }, { ...one, at: { local: '20270101000000', utc: '20270101000000' } }),
    ).to.equal(1);
    expect(remembered(one, () => ({ problem: 'not asked' }))).to.deep.equal({ key: 'SHA256:1' });
  });

  const changes: Readonly<Record<string, Partial<Checked>>> = {
    'another text': { text: 'another' },
    'another signature': { signature: 'another' },
    'another namespace': { namespace: 'file' },
    'another principal': { principal: 'jo' },
    'other keys': { signers: '' },
  };
  for (const [name, change] of Object.entries(changes))
    it(`is checked again for ${name}`, () => {
      const one = sample();
      expect(checks(one, { ...one, ...change })).to.equal(2);
    });

  it('is checked again once a limit of its validity has passed, in its zone', () => {
    const one = sample({
      signers: 'kim valid-after="20261101",valid-before="202611281130Z" ssh-ed25519 AAAA',
    });
    const at = (local: string, utc: string) => ({ ...one, at: { local, utc } });
    expect(checks(one, at('20261128122959', '20261128112959'))).to.equal(1);
    expect(checks(at('20261128123000', '20261128113000'))).to.equal(1);
    expect(checks(at('20261128123001', '20261128113001'))).to.equal(1);
    expect(checks(at('20261031235959', '20261031225959'))).to.equal(1);
    expect(checks(one)).to.equal(0);
  });

  for (const signers of [
    'kim cert-authority ssh-ed25519 AAAA',
    'kim valid-before="tomorrow" ssh-ed25519 AAAA',
  ])
    it(`is checked each time if a limit of its validity is not understood: ${signers}`, () => {
      const one = sample({ signers });
      expect(checks(one, one)).to.equal(2);
    });
});

describe('A signature that is not good', () => {
  it('is checked each time', () => {
    const one = sample();
    const bad = () => remembered(one, () => ({ problem: 'no such key' }));
    expect([bad(), bad()]).to.deep.equal([{ problem: 'no such key' }, { problem: 'no such key' }]);
    expect(checks(one)).to.equal(1);
  });
});

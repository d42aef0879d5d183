import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { secretSamples } from '../../../test/fixtures/redaction/secret-samples.ts';
import { decode, NonEmptyString } from '../decode.ts';
import { InvalidInput } from '../errors.ts';
import { maskedText, textMasked, withoutSecrets } from './masked-text.ts';
import { findSecrets } from './redactor.ts';

describe('What people write', () => {
  it('is masked with the short passwords that would be words of code elsewhere', () => {
    const text = 'the database has password=hunter2 since May';
    expect(maskedText(text)).to.equal('the database has password=[redacted password] since May');
    expect(findSecrets(text)).to.deep.equal([]);
  });

  const prose = readFileSync(new URL('../../../test/fixtures/redaction/prose.tsv', import.meta.url), 'utf8');
  for (const line of prose.trimEnd().split('\n')) {
    const [expected, text = ''] = line.split('\t');
    it(`is ${expected === 'yes' ? '' : 'not '}masked, whatever stands between name and value: ${text}`, () => {
      if (expected === 'no') expect(maskedText(text)).to.equal(text);
      else expect(maskedText(text)).to.match(/^\D*\[redacted (?:password|generic_secret)\]\D*$/);
    });
  }

  it('stays as it is when it is masked again', () => {
    const once = maskedText('pwd: 12345678. Password: s3cret!');
    expect(once).to.equal('pwd: [redacted password]. Password: [redacted password]');
    expect(maskedText(once)).to.equal(once);
  });
});

describe('A text of a request', () => {
  const token = secretSamples.github_token![0] as string;

  it('is masked when it is decoded', () => {
    expect(decode(textMasked(NonEmptyString), `for ${token}`, 'it')).to.equal('for [redacted github_token]');
  });

  it('is refused with a secret if it names something, without showing the secret', () => {
    const name = withoutSecrets(NonEmptyString);
    expect(decode(name, 'hello', 'it')).to.equal('hello');
    expect(() => decode(name, `x-${token}`, 'it')).to.throw(
      InvalidInput,
      'it: / is "x-[redacted github_token]": must hold no secret (github_token): it names something',
    );
  });
});

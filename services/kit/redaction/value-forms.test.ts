import { expect } from 'chai';
import { Redactor } from './redactor.ts';

const value = 'a/b<c>d&e\'f=g+h`i"j\\k-l mé';

/** How programs write it, and their defaults for it. */
const writings: Readonly<Record<string, string>> = {
  'as it is': value,
  'JSON of JavaScript': 'a/b<c>d&e\'f=g+h`i\\"j\\\\k-l mé',
  'JSON of Python': 'a/b<c>d&e\'f=g+h`i\\"j\\\\k-l m\\u00e9',
  'JSON of PHP': 'a\\/b<c>d&e\'f=g+h`i\\"j\\\\k-l m\\u00e9',
  'JSON of Go': 'a/b\\u003cc\\u003ed\\u0026e\'f=g+h`i\\"j\\\\k-l mé',
  'JSON in HTML of Jinja': 'a/b\\u003cc\\u003ed\\u0026e\\u0027f=g+h`i\\"j\\\\k-l m\\u00e9',
  'JSON of Gson': 'a/b\\u003cc\\u003ed\\u0026e\\u0027f\\u003dg+h`i\\"j\\\\k-l mé',
  'JSON of .NET': 'a/b\\u003Cc\\u003Ed\\u0026e\\u0027f=g\\u002Bh\\u0060i\\u0022j\\\\k-l m\\u00E9',
  'JSON with all escaped':
    'a\\u002fb\\u003cc\\u003ed\\u0026e\\u0027f\\u003dg\\u002bh\\u0060i\\u0022j\\u005ck\\u002dl\\u0020m\\u00e9',
  'JSON with all escaped in capitals':
    'a\\u002Fb\\u003Cc\\u003Ed\\u0026e\\u0027f\\u003Dg\\u002Bh\\u0060i\\u0022j\\u005Ck\\u002Dl\\u0020m\\u00E9',
  'a part of a URL': "a%2Fb%3Cc%3Ed%26e'f%3Dg%2Bh%60i%22j%5Ck-l%20m%C3%A9",
  'a form in a URL': 'a%2Fb%3Cc%3Ed%26e%27f%3Dg%2Bh%60i%22j%5Ck-l+m%C3%A9',
};

describe('A secret that the redactor knows', () => {
  for (const [name, written] of Object.entries(writings)) {
    it(`is hidden, and it alone: ${name}`, () => {
      const redactor = new Redactor();
      redactor.addSecret(value);
      expect(redactor.redact(`<${written}>`)).to.equal('<[redacted]>');
    });
  }

  it('is hidden where a writer of JSON escapes all but letters, digits and line ends', () => {
    const redactor = new Redactor();
    redactor.addSecret(['Az09-zA', '90'].join('\n'));
    expect(redactor.redact('<Az09\\u002dzA\\n90>')).to.equal('<[redacted]>');
  });

  it('is hidden in base64 at each of the three places it can begin, with all characters that depend on it alone', () => {
    const redactor = new Redactor();
    redactor.addSecret('~~~???>>>1');
    const around = (before: string) => Buffer.from(`${before}~~~???>>>1.`);
    const hidden = ['', 'x', 'xx', 'xxx'].map((before) => redactor.redact(around(before).toString('base64')));
    expect(hidden).to.deep.equal([
      '[redacted]S4=',
      'eH[redacted]Eu',
      'eHh[redacted]Lg==',
      'eHh4[redacted]S4=',
    ]);
    const inUrls = around('').toString('base64url');
    expect(inUrls).to.equal('fn5-Pz8_Pj4-MS4');
    expect(redactor.redact(inUrls)).to.equal('[redacted]S4');
    expect(redactor.redact('fn5%2BPz8%2FPj4%2BMS4%3D')).to.equal('[redacted]S4%3D');
  });
});

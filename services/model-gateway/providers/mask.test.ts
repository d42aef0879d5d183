import { expect } from 'chai';
import fc from 'fast-check';
import { processorTime } from '../../../test/fixtures/processor-time.ts';
import { Mask } from './mask.ts';

const secret = 'sk-0123456789/abc+DEF==';

describe('The mask of a credential', () => {
  it('hides it in all its forms, and keeps every length', () => {
    const mask = new Mask([secret]);
    const forms = [secret, encodeURIComponent(secret), Buffer.from(`a:${secret}`).toString('base64')];
    for (const form of forms) {
      const text = `before ${form} after`;
      const hidden = mask.hide(text);
      expect(hidden).to.have.length(text.length);
      expect(hidden)
        .to.match(/^before [^ ]*\*{8,}[^ ]* after$/)
        .and.to.not.contain(form);
    }
  });

  it('leaves what is none as it is', () => {
    const mask = new Mask([secret, 'ollama']);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(mask.hide(`ollama ${text}`)).to.equal(`ollama ${text}`);
      }),
    );
  });

  it('hides one with a percent sign, also as URLs escape that', () => {
    const odd = 'sk-50%off%25-0123456789';
    const mask = new Mask([odd]);
    for (const form of [odd, encodeURIComponent(odd)])
      expect(mask.hide(`bad ${form}`)).to.not.contain('0123456789');
  });

  it('finds it across the borders of pieces, and loses nothing', () => {
    const part = fc.oneof(
      fc.string(),
      fc.constant(secret),
      fc.constant(secret.slice(0, 9)),
      fc.constant('sk-'),
      fc.constant('\\'),
    );
    fc.assert(
      fc.property(fc.array(part), fc.array(fc.nat({ max: 12 })), (parts, cuts) => {
        const text = parts.join('');
        const stream = new Mask([secret]).stream();
        let out = '';
        let at = 0;
        for (const cut of cuts) {
          out += stream.push(text.slice(at, at + cut));
          at += cut;
        }
        out += stream.push(text.slice(at)) + stream.end();
        expect(out).to.equal(new Mask([secret]).hide(text));
      }),
    );
  });

  it('hides a revealing beginning, also at the very end, and no more', () => {
    const mask = new Mask(['sk-ant-api03-Zyxwvutsrqponmlk']);
    expect(mask.hide('it is sk-ant-api03-Zyxwvuts…')).to.equal(`it is ${'*'.repeat(21)}…`);
    const streamed = (text: string) => {
      const stream = mask.stream();
      return stream.push(text) + stream.end();
    };
    expect(streamed('it is sk-ant-api03-Zyxwvuts')).to.equal(`it is ${'*'.repeat(21)}`);
    expect(streamed('it begins with sk-ant-api03-Zy')).to.equal('it begins with sk-ant-api03-Zy');
  });

  it('takes no longer for escapes without end', () => {
    const mask = new Mask([secret]);
    for (const part of ['\\', '\\u002d', '%73', 's\\', 'sk-']) {
      const text = part.repeat(1_000_000 / part.length);
      const spent = processorTime();
      mask.hide(text);
      mask.stream().push(text);
      expect(spent(), part).to.be.lessThan(10_000);
    }
  });

  it('holds back only what could go on', () => {
    const stream = new Mask([secret]).stream();
    expect(stream.push('say "sk"')).to.equal('say "sk"');
    expect(stream.push(' or sk-01')).to.equal(' or ');
    expect(stream.push('0')).to.equal('sk-010');
  });
});

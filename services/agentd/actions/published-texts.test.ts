import { expect } from 'chai';
import fc from 'fast-check';
import { fillTemplate, slots, withoutSlots } from './published-texts.ts';

const values = Object.fromEntries(Object.keys(slots).map((name) => [name, `<${name}>`]));

describe('templates of published texts', () => {
  it('fill each named slot and leave everything else byte for byte', () => {
    expect(fillTemplate('a {{run_id}} b {{unknown}} {{validation}}\r\n', values)).to.equal(
      'a <run_id> b {{unknown}} <validation>\r\n',
    );
  });

  it('do not fill slots inside a filled value', () => {
    expect(fillTemplate('{{run_id}}', { run_id: '{{audit_head}}' })).to.equal('{{audit_head}}');
  });

  it('refuse a slot that has no value yet', () => {
    expect(() => fillTemplate('{{pull_request}}', {})).to.throw('{{pull_request}}');
  });

  it('never let text from outside open a slot', () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom(...Object.keys(slots)), fc.string(), (before, name, after) => {
        const outside = withoutSlots(`${before}{{${name}}}${after}`);
        expect(fillTemplate(outside, values)).to.equal(outside);
      }),
    );
  });
});

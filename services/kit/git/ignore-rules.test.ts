import { expect } from 'chai';
import { IgnoreRules } from './ignore-rules.ts';

describe('The ignore rules of a tree', () => {
  it('ignores what the nearest file says', () => {
    const rules = new IgnoreRules();
    rules.add('', '# build\nbuild/\n*.log\r\n');
    rules.add('src/', '!keep.log\n');
    expect(['build/a.js', 'x.log', 'src/x.log'].map((path) => rules.ignores(path))).to.deep.equal([
      true,
      true,
      true,
    ]);
    expect(['src/keep.log', 'src/a.js'].map((path) => rules.ignores(path))).to.deep.equal([false, false]);
  });

  it('applies no rule that is made to be slow, and all others', () => {
    const rules = new IgnoreRules();
    const slow = Array.from({ length: 20_000 }, (_, n) => `**/*a*b*c*d${n}*e*f/**/x?[a-z]*`).join('\n');
    rules.add('', `${slow}\n*.log\n`);
    const path = `${'abcdef/'.repeat(30)}x.log`;
    for (let n = 0; n < 300; n++) expect(rules.ignores(`${n}${path}`)).to.equal(true);
  });
});

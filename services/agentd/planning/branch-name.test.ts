import { expect } from 'chai';
import fc from 'fast-check';
import { matches } from '#kit/decode.ts';
import { BranchPrefix, branchNameProblem } from '../git/branch-name.ts';
import { branchName, slugOf } from './draft-plan.ts';

const anyText = fc
  .array(fc.integer({ min: 0, max: 0x10ffff }))
  .map((points) => String.fromCodePoint(...points));
const run = 'run_0199f3c2-1a2b-7abc-8def-0123456789ab';

describe('branch names', () => {
  it('carry number, first words of the title and the time of the run', () => {
    expect(branchName('core/', 1, 'Greeting is wrong when the name is empty', run)).to.equal(
      'core/1-greeting-is-wrong-0199f3c21a2b',
    );
  });

  it('do without a slug where the title has no letters that fit', () => {
    expect(branchName('core/', 7, '修复', run)).to.equal('core/7-0199f3c21a2b');
  });

  it('cut a single long word', () => {
    expect(slugOf('Donaudampfschifffahrtsgesellschaft')).to.equal('donaudampfschifffahr');
  });

  it('pass every title through the guard: letters, digits and dashes alone', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 2 ** 31 - 1 }), (title, number) => {
        expect(branchName('core/', number, title, run)).to.match(/^core\/\d+(-[a-z0-9]+)*-0199f3c21a2b$/);
      }),
    );
  });

  it("pass git's own rules", () => {
    for (const title of ['..', '@{', 'a.lock', '-x', 'HEAD', '\u0000', 'refs/heads/main', '~^:?*[']) {
      expect(branchNameProblem(branchName('core/', 1, title, run)), title).to.equal(null);
    }
  });

  it('begin with a prefix that git allows and that ends where a word ends', () => {
    const title = 'Greeting is wrong';
    for (const prefix of ['core/', 'bot-', 'team/bot_', 'Team.1/core/', 'a/b/c-']) {
      expect(matches(BranchPrefix, prefix), prefix).to.equal(true);
      expect(branchName(prefix, 1, title, run)).to.equal(`${prefix}1-greeting-is-wrong-0199f3c21a2b`);
    }
    const wrong = [
      '',
      '/',
      '-',
      'core',
      'core//',
      '-core/',
      '/core/',
      '.core/',
      'a/.b/',
      'a..b/',
      'a.lock/',
      'refs/heads/',
    ];
    for (const prefix of [...wrong, 'a b/', 'a~/', 'größe/', 'a\n/', 'a:b/', '@{/', `${'x'.repeat(100)}/`])
      expect(matches(BranchPrefix, prefix), prefix).to.equal(false);
  });

  it('pass every prefix that is allowed through the guard', () => {
    const prefixes = fc
      .stringMatching(/^[A-Za-z0-9./_@-]{0,12}[/_-]$/)
      .filter((text) => matches(BranchPrefix, text));
    fc.assert(
      fc.property(prefixes, anyText, (prefix, title) => {
        expect(branchNameProblem(branchName(prefix, 2 ** 31 - 1, title, run))).to.equal(null);
      }),
    );
  });
});

import { expect } from 'chai';
import fc from 'fast-check';
import { branchNameProblem } from '../git/branch-name.ts';
import { branchName, slugOf } from './draft-plan.ts';

const anyText = fc
  .array(fc.integer({ min: 0, max: 0x10ffff }))
  .map((points) => String.fromCodePoint(...points));
const run = 'run_0199f3c2-1a2b-7abc-8def-0123456789ab';

describe('branch names', () => {
  it('carry number, first words of the title and the time of the run', () => {
    expect(branchName(1, 'Greeting is wrong when the name is empty', run)).to.equal(
      'core/1-greeting-is-wrong-0199f3c21a2b',
    );
  });

  it('do without a slug where the title has no letters that fit', () => {
    expect(branchName(7, '修复', run)).to.equal('core/7-0199f3c21a2b');
  });

  it('cut a single long word', () => {
    expect(slugOf('Donaudampfschifffahrtsgesellschaft')).to.equal('donaudampfschifffahr');
  });

  it('pass every title through the guard: letters, digits and dashes alone', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 2 ** 31 - 1 }), (title, number) => {
        expect(branchName(number, title, run)).to.match(/^core\/\d+(-[a-z0-9]+)*-0199f3c21a2b$/);
      }),
    );
  });

  it("pass git's own rules", () => {
    for (const title of ['..', '@{', 'a.lock', '-x', 'HEAD', '\u0000', 'refs/heads/main', '~^:?*[']) {
      expect(branchNameProblem(branchName(1, title, run)), title).to.equal(null);
    }
  });
});

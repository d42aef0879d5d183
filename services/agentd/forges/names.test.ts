import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import fc from 'fast-check';
import { checkBranch } from './names.ts';

describe('branch names', () => {
  it('pass only if git takes them too', () => {
    const part = fc.string({ unit: fc.constantFrom(...'ab/.-@{~^:?*[\\ \u0001\u007fé'), maxLength: 8 });
    fc.assert(
      fc.property(part, (name) => {
        if (passes(name)) expect(gitTakes(name), JSON.stringify(name)).to.equal(true);
      }),
      { numRuns: 150, examples: [['a.lock'], ['a.lock/b'], ['@'], ['a@{b'], ['HEAD'], ['-a'], ['core/1-a']] },
    );
    expect(passes('core/12-grüße-0199f3c2')).to.equal(true);
    expect(passes('release/1.0')).to.equal(true);
  });
});

function passes(name: string): boolean {
  try {
    checkBranch(name);
    return true;
  } catch {
    return false;
  }
}

function gitTakes(name: string): boolean {
  try {
    execFileSync('git', ['check-ref-format', '--branch', name], { stdio: 'ignore', cwd: '/' });
    return true;
  } catch {
    return false;
  }
}

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { nodeFlags } from './node-flags.ts';

describe('The flags of Node', () => {
  it('are those of ./core', () => {
    const launcher = readFileSync(new URL('../../core', import.meta.url), 'utf8');
    const start = launcher.slice(launcher.lastIndexOf('exec '));
    expect(start.match(/ --[^ \n]+/g)?.map((flag) => flag.trim())).to.deep.equal(nodeFlags);
  });
});

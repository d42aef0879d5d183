import { expect } from 'chai';
import { commandNames } from './overview.ts';
import { declaredBy } from './programs.ts';

describe('core --help', () => {
  it('lists every command of core-agentd, as core starts only what is listed', async () => {
    const declared = (await declaredBy('agentd')).commands.map((command) => command.name());
    const listed = new Set([...commandNames, 'serve']);
    expect(declared.filter((name) => !listed.has(name))).to.deep.equal([]);
  });
});

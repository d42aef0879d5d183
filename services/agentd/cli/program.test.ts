import { expect } from 'chai';
import { declareProgram } from './program.ts';

describe('The parser of core-agentd', () => {
  const parts = { name: 'core', version: '1.2.3', run: () => Promise.resolve() };

  it('declares a command that is named alone as it does among all of them', async () => {
    const all = await declareProgram(parts);
    expect(all.commands.length).to.be.greaterThan(20);
    for (const command of all.commands) {
      const [alone, ...others] = (await declareProgram(parts, command.name())).commands;
      expect(others).to.deep.equal([]);
      expect(alone!.helpInformation()).to.equal(command.helpInformation());
    }
  });

  it('declares all of them for an unknown name', async () => {
    const all = await declareProgram(parts);
    for (const name of ['statsu', 'constructor', '']) {
      const { commands } = await declareProgram(parts, name);
      expect(commands.length, name).to.equal(all.commands.length);
    }
  });
});

import { expect } from 'chai';
import { Command } from 'commander';
import { codeOf } from '../errors.ts';
import { choice } from './choice.ts';

describe('An option with fixed words', () => {
  const parsed = (...args: string[]) =>
    new Command()
      .addOption(choice('--gate <gate>', 'one', ['build', 'publish']))
      .addOption(choice('--kind <kind>', 'several', ['file', 'run'], { repeatable: true }))
      .parse(args, { from: 'user' })
      .opts();

  it('takes one of them, or several where it is repeatable', () => {
    expect(parsed('--gate', 'build')).to.deep.equal({ gate: 'build' });
    expect(parsed('--kind', 'file', '--kind', 'run')).to.deep.equal({ kind: ['file', 'run'] });
  });

  it('names them where another is given', () => {
    let error: unknown;
    try {
      parsed('--gate', 'bild');
    } catch (cause) {
      error = cause;
    }
    expect(codeOf(error)).to.equal('invalid_option');
    expect(String(error)).to.contain("--gate 'bild' must be one of build, publish");
  });
});

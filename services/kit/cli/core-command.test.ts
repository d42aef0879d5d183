import { expect } from 'chai';
import { secretSamples } from '../../../test/fixtures/redaction/secret-samples.ts';
import { CoreCommand } from './core-command.ts';

const token = secretSamples.github_token![0] as string;
const mark = '[redacted github_token]';

function parsed(command: CoreCommand, args: readonly string[]): unknown[] {
  let given: unknown[] = [];
  command.action((...all: unknown[]) => {
    given = all.slice(0, -1);
  });
  command.parse(args, { from: 'user' });
  return given;
}

describe('An option or argument', () => {
  it('that is a text comes masked, to its own parser too', () => {
    const command = new CoreCommand('core')
      .option('--reason <text>', 'why')
      .option('--note <text>', 'what', (text) => text.toUpperCase())
      .option('--step <text>', 'of several', (text, before: string[] = []) => [...before, text]);
    const args = ['--reason', `for ${token}`, '--note', token, '--step', token, '--step', 'two'];
    expect(parsed(command, args)).to.deep.equal([
      { reason: `for ${mark}`, note: mark.toUpperCase(), step: [mark, 'two'] },
    ]);
  });

  it('that is several words is one text, so that a secret is found in two of them', () => {
    const command = new CoreCommand('core').argument('<words...>', 'what');
    for (const _ of ['once', 'and again'])
      expect(parsed(command, ['the', 'password:', 's3cret!', 'since', 'May'])[0]).to.equal(
        'the password: [redacted password] since May',
      );
  });

  it('that is something else comes as it was typed', () => {
    const command = new CoreCommand('core').argument('<file>', 'a file').option('--port <n>', 'a port');
    expect(parsed(command, [token, '--port', '1'])).to.deep.equal([token, { port: '1' }]);
  });

  it('is refused in commands of commands too, unless it says what its value is', () => {
    const command = new CoreCommand('core').command('run');
    expect(() => command.option('--reason <why>', 'why')).to.throw(TypeError, "--reason <why>: 'why' is not");
    expect(() => command.argument('[why]', 'why')).to.throw(TypeError, "argument why: 'why' is not");
  });
});

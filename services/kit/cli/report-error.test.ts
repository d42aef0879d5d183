import { expect } from 'chai';
import { createColors } from 'picocolors';
import { displayWith } from '../../../test/fixtures/terminal/display.ts';
import { Conflict, CoreError, Interrupted } from '../errors.ts';
import { reportError } from './report-error.ts';

describe('An error on a terminal', () => {
  it('is wrapped under its label, and so is what to do', async () => {
    const error = new CoreError('not_here', 'what was asked for is not in any of these places', {
      hint: 'Look somewhere else, for example where it was yesterday',
    });
    expect(await reported(error, { width: 40 })).to.deep.equal([
      'error  what was asked for is not in any',
      '       of these places  [not_here]',
      '   do  Look somewhere else, for example',
      '       where it was yesterday',
    ]);
  });

  it('breaks a command that helps so that it can be pasted', async () => {
    const error = new Conflict('busy', 'another process has it', {
      hint: 'Stop it:\n./core cancel run_0123456789ab --home /a/place/of/its/own',
    });
    expect(await reported(error, { width: 40 })).to.deep.equal([
      'refused  another process has it  [busy]',
      '   do  Stop it:',
      '       ./core cancel run_0123456789ab \\',
      '         --home /a/place/of/its/own',
    ]);
  });

  it('wraps a sentence that begins with a command as a sentence', async () => {
    const error = new Conflict('there', 'it is there already', {
      hint: './core token rotate jo gives it a new text. To take it away: ./core token revoke jo',
    });
    expect(await reported(error, { width: 40 })).to.deep.equal([
      'refused  it is there already  [there]',
      '   do  ./core token rotate jo gives it a',
      '       new text. To take it away: ./core',
      '       token revoke jo',
    ]);
  });

  it('is no error where a person stopped the command', async () => {
    const stopped = new Interrupted('interrupted', 'stopped by you; nothing was taken back');
    expect(await reported(stopped, {})).to.deep.equal([
      'stopped  by you; nothing was taken back  [interrupted]',
    ]);
  });

  it('names the launcher as the person called it', async () => {
    const error = new CoreError('away', 'it does not answer; ./core up starts it', { hint: './core up' });
    expect(await reported(error, { program: 'core' })).to.deep.equal([
      'error  it does not answer; core up starts it  [away]',
      '   do  core up',
    ]);
    const [, fix] = await reported(error, { program: "'/opt/a b/core' context" });
    expect(fix).to.equal("   do  '/opt/a b/core' up");
    expect((await reported(error, { program: 'core-context' }))[1]).to.equal('   do  ./core up');
  });
});

async function reported(
  error: Error,
  { width = Number.POSITIVE_INFINITY, program = './core', config = 'config' },
) {
  let text = '';
  await reportError(error, {
    program,
    config,
    json: false,
    verbose: false,
    paint: createColors(false),
    display: displayWith(width),
    write: (piece) => {
      text += piece;
    },
  });
  return text.trimEnd().split('\n');
}

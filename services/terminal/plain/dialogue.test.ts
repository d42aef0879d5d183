import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { openDialogue } from './dialogue.ts';

function typed(isTTY: boolean) {
  const stdin = Object.assign(new PassThrough(), { isTTY });
  const stdout = new PassThrough();
  stdout.setEncoding('utf8');
  return { stdin, stdout, dialogue: openDialogue(stdin, stdout) };
}

async function says(stdout: PassThrough, text: string): Promise<void> {
  for (let said = ''; !said.includes(text); ) {
    await once(stdout, 'readable');
    said += stdout.read() ?? '';
  }
}

describe('A dialogue', () => {
  it('takes no line that a person typed ahead for an answer that decides', async () => {
    const { stdin, stdout, dialogue } = typed(true);
    stdin.write('first\nyes\napprove\n');
    expect(await dialogue.ask('What next?')).to.equal('first');
    const answer = dialogue.decide('Type approve:');
    await says(stdout, 'Type approve:');
    stdin.write('no\n');
    expect(await answer).to.equal('no');
    dialogue.close();
  });

  it('takes every line of a pipe for an answer', async () => {
    const { stdin, dialogue } = typed(false);
    stdin.end('first\napprove\n');
    expect(await dialogue.ask('What next?')).to.equal('first');
    expect(await dialogue.decide('Type approve:')).to.equal('approve');
    expect(await dialogue.ask('What next?')).to.equal(null);
    dialogue.close();
  });

  it('is over when nobody reads it any more, whatever is still typed', async () => {
    const { stdin, stdout, dialogue } = typed(false);
    const answer = dialogue.ask('What next?');
    const closed = once(stdout, 'close');
    stdout.destroy();
    await closed;
    expect(await answer).to.equal(null);
    stdin.write('approve\n');
    dialogue.say('unheard');
    expect(await dialogue.ask('Type approve:')).to.equal(null);
    dialogue.close();
  });
});

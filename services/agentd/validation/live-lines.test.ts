import { expect } from 'chai';
import { LiveLines } from './live-lines.ts';

describe('Live output', () => {
  function told(): { lines: LiveLines; messages: string[]; next: () => Promise<string> } {
    const messages: string[] = [];
    let wake = (_: string) => {};
    const lines = new LiveLines((message) => {
      messages.push(message);
      wake(message);
    });
    const next = () =>
      new Promise<string>((resolve) => {
        wake = resolve;
      });
    return { lines, messages, next };
  }

  it('is told in whole lines, the first at once, the last without its end as well', () => {
    const { lines, messages } = told();
    lines.add('one\ntw');
    expect(messages).to.deep.equal(['one']);
    lines.add('o\r\nthree\n\nfo');
    lines.add('ur');
    lines.flush();
    expect(messages.join('\n')).to.equal('one\ntwo\nthree\n\nfour');
  });

  it('is told soon, though nothing follows', async () => {
    const { lines, next } = told();
    lines.add('one\n');
    const later = next();
    lines.add('two\n');
    expect(await later).to.equal('two');
    const dots = next();
    lines.add('....');
    expect(await dots).to.equal('....');
    lines.flush();
  });

  it('leaves out what comes too fast, says so, and cuts endless lines', () => {
    const { lines, messages } = told();
    lines.add('first\n');
    for (let count = 0; count < 1_000; count++) lines.add(`${count}\n`);
    lines.add('x'.repeat(100_000));
    lines.add('y\n');
    lines.flush();
    const shown = messages.join('\n').split('\n');
    expect(shown.length).to.be.lessThan(1_010);
    expect(shown).to.contain('first');
    expect(shown.some((line) => /^\[\d+ lines that came too fast are in the log\]$/.test(line))).to.equal(
      true,
    );
    expect(Math.max(...shown.map((line) => line.length))).to.be.at.most(1_001);
    expect(shown.at(-1)).to.equal(`${'x'.repeat(1_000)}…`);
  });
});

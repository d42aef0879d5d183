import { expect } from 'chai';
import { until } from '../../../test/fixtures/until.ts';
import { liveLines } from './live-lines.ts';

describe('Live output', () => {
  function reported() {
    const messages: string[] = [];
    return { lines: liveLines((message) => messages.push(message)), messages };
  }

  it('is reported in whole lines, the last without its end as well', () => {
    const { lines, messages } = reported();
    lines.add('one\ntw');
    lines.add('o\r\nthree\n\nfo');
    lines.add('ur');
    lines.flush();
    expect(messages.join('\n')).to.equal('one\ntwo\nthree\n\nfour');
  });

  it('is reported soon, though nothing follows', async () => {
    const { lines, messages } = reported();
    lines.add('one\ntw');
    await until('a report', () => messages.length > 0);
    expect(messages).to.deep.equal(['one']);
    lines.flush();
    expect(messages).to.deep.equal(['one', 'tw']);
  });

  it('leaves out what comes too fast, says so, and cuts endless lines', () => {
    const { lines, messages } = reported();
    for (let count = 0; count < 1_000; count++) lines.add(`${count}\n`);
    lines.add('x'.repeat(100_000));
    lines.add('y\n');
    lines.flush();
    const shown = messages.join('\n').split('\n');
    expect(shown.length).to.equal(201);
    expect(shown.some((line) => /^\[\d+ lines that came too fast are in the log\]$/.test(line))).to.equal(
      true,
    );
    expect(Math.max(...shown.map((line) => line.length))).to.be.at.most(1_001);
    expect(shown.at(-1)).to.equal(`${'x'.repeat(1_000)}…`);
  });
});

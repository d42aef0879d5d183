import { Writable } from 'node:stream';
import { expect } from 'chai';
import { createProgress } from './progress.ts';
import { createTerminal } from './terminal.ts';

const clearLine = '\r\x1b[2K';

describe('the progress of a command', () => {
  it('leaves an empty line for the result where only the moving line is shown', () => {
    const { written, progress } = onTerminal({ lasting: false });
    progress.update({ step: 'commit', state: 'started', message: 'undo' });
    progress.update({ step: 'commit', state: 'succeeded', message: 'deleted' });
    expect(written()).to.match(/commit.*undo/);
    expect(written().endsWith(clearLine)).to.equal(true);
  });

  it('keeps one line for each step that ended where they last', () => {
    const { written, progress } = onTerminal({ lasting: true });
    progress.update({ step: 'commit', state: 'started', message: 'Greet' });
    progress.update({ step: 'commit', state: 'succeeded', message: 'at 1234567', duration_ms: 200 });
    progress.end();
    expect(written().split(clearLine).at(-1)).to.equal('   ✔  commit             at 1234567  0.2 s\n');
  });

  it('prints the reason that stops several steps once', () => {
    const { written, progress } = onTerminal({ lasting: true });
    const reason = 'the approval by root no longer counts';
    for (const step of ['create_branch', 'commit'])
      progress.update({ step, state: 'refused', message: reason, duration_ms: 200 });
    progress.update({ step: 'push_branch', state: 'blocked', message: 'builds on 4' });
    expect(written().replaceAll(clearLine, '')).to.equal(
      `   -  create_branch      ${reason}  0.2 s
   -  commit             the same as create_branch  0.2 s
   -  push_branch        builds on 4
`,
    );
  });
});

function onTerminal({ lasting }: { readonly lasting: boolean }) {
  let text = '';
  const stderr = Object.assign(
    new Writable({
      write(piece, _, done) {
        text += String(piece);
        done();
      },
    }),
    { isTTY: true, columns: 80 },
  );
  const terminal = createTerminal({
    stdout: new Writable(),
    stderr,
    color: false,
    ascii: false,
    environment: { COLUMNS: undefined, NO_COLOR: undefined, TERM: 'xterm', LANG: 'C.UTF-8' },
  });
  return { written: () => text, progress: createProgress(terminal, { verbose: false, lasting }) };
}

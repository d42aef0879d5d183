import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Benchmark, compare, takeTurns } from './comparison.ts';
import { lines, opened, patchText } from './terminal-opening.ts';

const opening = fileURLToPath(new URL('terminal-opening.ts', import.meta.url));
const frames = 30;

export const terminal: Benchmark = {
  summary: `milliseconds until ${lines.toLocaleString('en')} lines of a patch are on the screen, and for ${frames} pages of it`,
  async run(folder) {
    const text = patchText();
    const file = join(folder, 'a.patch');
    writeFileSync(file, text);
    const samples = await takeTurns(10, {
      git: () =>
        timed(() => void execFileSync('git', ['apply', '--numstat', file], { cwd: folder, stdio: 'pipe' })),
      cold: () => Number(execFileSync(process.execPath, [opening], { encoding: 'utf8' })),
      start: () => timed(() => void execFileSync(process.execPath, ['--eval', '0'])),
      open: () => timed(() => void opened(text)),
      scroll() {
        const screen = opened(text);
        return timed(() => {
          for (let frame = 0; frame < frames; frame++) screen.page();
        });
      },
    });
    const yardstick = 'git apply --numstat of the same patch';
    return [
      compare(
        {
          subject: 'the first opening',
          yardstick: 'the start of a node that does nothing',
          measure: 'time',
          bar: 6,
        },
        samples.cold,
        samples.start,
      ),
      compare({ subject: 'opening', yardstick, measure: 'time', bar: 4 }, samples.open, samples.git),
      compare(
        { subject: `${frames} frames`, yardstick, measure: 'time', bar: 6 },
        samples.scroll,
        samples.git,
      ),
    ];
  },
};

function timed(work: () => void): number {
  const before = performance.now();
  work();
  return performance.now() - before;
}

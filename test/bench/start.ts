import { join } from 'node:path';
import { type Benchmark, compare, takeTurns } from './comparison.ts';
import { writeRuns } from './many-runs.ts';
import { core, timed } from './timed-process.ts';

const runs = 10_000;

export const start: Benchmark = {
  summary: `how long a person waits for a command, with ${runs.toLocaleString('en')} runs`,
  async run(folder) {
    await writeRuns(join(folder, 'state'), runs);
    const samples = await takeTurns(40, {
      node: () => timed(process.execPath, ['-e', '0']),
      version: () => timed(core, ['--version']),
      runs: () => timed(core, ['runs', '--home', folder]),
    });
    const measure = 'time' as const;
    return [
      compare(
        { subject: './core --version', yardstick: 'node -e 0', measure, bar: 3 },
        samples.version,
        samples.node,
      ),
      compare(
        { subject: './core runs', yardstick: './core --version', measure, bar: 2 },
        samples.runs,
        samples.version,
      ),
    ];
  },
};

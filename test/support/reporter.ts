import mocha from 'mocha';
import { skipSummary } from './skip-summary.ts';

/** Dots, failures, and at the end each group of tests that this machine could not run, with what provides it. */
// biome-ignore lint/style/noDefaultExport: mocha reads the default export
export default class Reporter extends mocha.reporters.Dot {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const skipped: string[][] = [];
    runner.on('pending', (test) => skipped.push(test.titlePath()));
    runner.once('end', () => process.stdout.write(skipSummary(skipped)));
  }
}

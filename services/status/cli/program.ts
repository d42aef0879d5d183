import type { Command } from 'commander';
import { type ProgramStart, type RunCommand, runServiceProgram } from '#kit/cli/program.ts';
import type { SmokeReport } from '#kit/contracts/status.ts';
import { exitCodes } from '#kit/errors.ts';
import { status } from '../status.ts';
import { summaryOf } from '../summary.ts';

const description = `How the platform is, as JSON: its services, their health, the bus, the stored runs.
Exit code 1 when anything required is not well; "problems" names each and what to do.
On a terminal the same follows in a few lines, on standard error.`;

export function runStatusProgram(start: ProgramStart): Promise<number> {
  return runServiceProgram(start, { description, groups: [{ define }] });
}

function define(program: Command, run: RunCommand): void {
  program
    .option('--pretty', 'indented JSON')
    .option('--smoke', 'also send an event through bridge, bus and worker to a plan; writes to no repository')
    .action((options: { readonly pretty?: boolean; readonly smoke?: boolean }) =>
      run(async ({ home }) => {
        const report = await status({ home, smoke: options.smoke === true });
        process.stdout.write(`${JSON.stringify(report, null, options.pretty === true ? 2 : 0)}\n`);
        if (report.smoke !== null) process.stdout.write(`${markerOf(report.smoke)}\n`);
        if (process.stderr.isTTY === true) process.stderr.write(`\n${summaryOf(report)}`);
        return report.ok ? exitCodes.done : exitCodes.failed;
      }),
    );
}

/** The last line, for people and for scripts that look at nothing else. */
function markerOf({ ok, run_id, steps }: SmokeReport): string {
  if (ok) return `SMOKE OK run_id=${run_id}`;
  const failed = steps.find((step) => !step.ok);
  const why = failed === undefined ? 'it did not end well' : `${failed.step}: ${failed.detail}`;
  return `SMOKE FAILED ${why.replaceAll(/\p{Cc}/gu, ' ')}`;
}

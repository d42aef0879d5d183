import type { Command } from 'commander';
import { printNote } from '#kit/cli/output.ts';
import { type ProgramStart, type RunCommand, runServiceProgram } from '#kit/cli/program.ts';
import type { SmokeReport } from '#kit/contracts/status.ts';
import { exitCodes } from '#kit/errors.ts';
import { status } from '../status.ts';
import { statusView } from '../status-view.ts';
import { summaryOf } from '../summary.ts';

const description = `How the platform is: its services, their health, the bus, the stored runs, and what to do.
Exit code 1 when anything required is not well. core-status gives it as JSON always, ./core status where it is
not read on a terminal, or with --json or --pretty.`;

export function runStatusProgram(start: ProgramStart): Promise<number> {
  const alwaysJson = start.program === 'core-status';
  return runServiceProgram(start, {
    description,
    groups: [{ define: (program, run) => define(program, run, alwaysJson) }],
  });
}

function define(program: Command, run: RunCommand, alwaysJson: boolean): void {
  program
    .option('--pretty', 'JSON, indented')
    .option('--smoke', 'also send an event through bridge, bus and worker to a plan; writes to no repository')
    .action((options: { readonly pretty?: boolean; readonly smoke?: boolean }) =>
      run(async ({ home, json, paints, display, named }) => {
        const pretty = options.pretty === true;
        const forPeople = process.stdout.isTTY === true && !alwaysJson && !json && !pretty;
        const report = await status({ home, smoke: options.smoke === true });
        process.stdout.write(
          forPeople
            ? statusView(report, { display, color: paints, now: new Date(), named })
            : `${JSON.stringify(report, null, pretty ? 2 : 0)}\n`,
        );
        if (report.smoke !== null) process.stdout.write(`${markerOf(report.smoke)}\n`);
        if (!forPeople && process.stderr.isTTY === true) printNote(named(`\n${summaryOf(report)}`), display);
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

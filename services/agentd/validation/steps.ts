import { Interrupted } from '#kit/errors.ts';
import { MaskStream } from '#kit/redaction/mask-stream.ts';
import type { MaskTally } from '#kit/redaction/secret-finder.ts';
import type { ValidationCommand, ValidationPlan } from '../action.ts';
import type { Sandbox, SandboxResult, SandboxRun } from '../ports/sandbox.ts';

export interface ValidationStep {
  readonly phase: 'prepare' | 'run';
  readonly name: string;
  readonly run: string;
  readonly exit_code: number | null;
  readonly ended_by: SandboxResult['ended_by'];
  readonly duration_ms: number;
  readonly truncated: boolean;
  /** Standard output and standard error in one stream, secrets masked, with notes by Core in square brackets. */
  readonly log: Uint8Array;
}

export interface Phase {
  readonly name: ValidationStep['phase'];
  readonly workspace: string;
  readonly mounts: SandboxRun['mounts'];
  readonly commands: readonly ValidationCommand[];
  readonly network: boolean;
  /** `seconds` is for all commands together. */
  readonly limits: ValidationPlan['limits'];
  /** Said at the beginning of the first log. */
  readonly notes: readonly string[];
  /** What a command that was not found needs; null where that is not known. */
  readonly whyNotFound: (command: string) => string | null;
  /** What a failure may come from, beside the code. Asked only after one. */
  readonly differences: () => Promise<readonly string[]>;
}

/** For plans sealed before they named a limit. */
const olderDiskMib = 8192;

export interface StepWatch {
  readonly signal: AbortSignal;
  readonly onOutput?: (text: string) => void;
  readonly onStep?: (text: string) => void;
}

/** What people read of a validation. */
export const outputPlace = 'the validation’s output';

/**
 * Runs commands one after the other: those that prepare up to the first that fails, those that test until their time is up.
 * @throws Interrupted (`cancelled`)
 */
export async function runSteps(
  sandbox: Sandbox,
  phase: Phase,
  watch: StepWatch,
  tally: MaskTally,
): Promise<ValidationStep[]> {
  const steps: ValidationStep[] = [];
  const began = performance.now();
  let notes = phase.notes;
  for (const { name, run } of phase.commands) {
    const shown = tally.mask(run, 'the validation’s commands');
    watch.onStep?.(`${phase.name === 'prepare' ? 'preparing' : 'running'}: ${shown}`);
    const spent = (performance.now() - began) / 1000;
    const result = await sandbox.run({
      workspace: phase.workspace,
      mounts: phase.mounts,
      command: run,
      network: phase.network,
      limits: {
        ...phase.limits,
        disk_mib: phase.limits.disk_mib ?? olderDiskMib,
        seconds: Math.max(1, Math.ceil(phase.limits.seconds - spent)),
      },
      signal: watch.signal,
      filter: new MaskStream(tally, ({ kind, fingerprint }) =>
        tally.add([{ kind, fingerprint, place: outputPlace }]),
      ),
      ...(watch.onOutput ? { onOutput: decoded(watch.onOutput) } : {}),
    });
    if (result.ended_by === 'cancelled') throw new Interrupted('cancelled', `'${shown}' was cancelled`);
    const { output, ...facts } = result;
    steps.push({
      phase: phase.name,
      name,
      run: shown,
      ...facts,
      log: withNotes(output, notes, [
        ...hints(result, phase.whyNotFound(run)),
        ...(passed(result) ? [] : await phase.differences()),
      ]),
    });
    notes = [];
    const ended = phase.name === 'prepare' ? !passed(steps.at(-1)!) : result.ended_by === 'timeout';
    if (ended) break;
  }
  return steps;
}

export function passed({ ended_by, exit_code }: Pick<ValidationStep, 'ended_by' | 'exit_code'>): boolean {
  return ended_by === 'exit' && exit_code === 0;
}

function hints({ exit_code }: SandboxResult, whyNotFound: string | null): string[] {
  if (exit_code !== 127) return [];
  const where = 'folders of tools outside the system go into tool_paths of config/validation.json';
  return (whyNotFound ?? `a program was not found; ${where}`).split('\n');
}

function withNotes(output: Uint8Array, before: readonly string[], after: readonly string[]): Uint8Array {
  if (before.length + after.length === 0) return output;
  const lines = (notes: readonly string[]) => notes.map((note) => `[core: ${note}]\n`).join('');
  return Buffer.concat([Buffer.from(lines(before)), output, Buffer.from(lines(after))]);
}

/** Text from bytes that may be cut within a character. */
function decoded(onOutput: (text: string) => void): (chunk: Uint8Array) => void {
  const decoder = new TextDecoder();
  return (chunk) => {
    const text = decoder.decode(chunk, { stream: true });
    if (text !== '') onOutput(text);
  };
}

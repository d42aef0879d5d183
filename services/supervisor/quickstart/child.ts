import { spawn } from 'node:child_process';
import { childEnvironment } from '#kit/environment.ts';
import { exitCodes, Failed, Interrupted, NotFound } from '#kit/errors.ts';

export interface Output {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end and gives what it said; fails with its own words. */
export async function runQuietly(
  program: string,
  args: readonly string[],
  accept: readonly number[] = [0],
): Promise<Output> {
  const output = await run(program, args, 'pipe');
  if (accept.includes(output.exitCode)) return output;
  const words = (output.stderr || output.stdout).trim();
  throw new Failed(
    'quickstart_step_failed',
    `${program} ${args.slice(0, 4).join(' ')} … failed (${output.exitCode}): ${words}`,
  );
}

/** Runs a program that speaks to the person itself; gives its exit code. */
export async function runOpenly(program: string, args: readonly string[]): Promise<number> {
  const { exitCode } = await run(program, args, 'inherit');
  if (exitCode === exitCodes.interrupted) throw new Interrupted('interrupted', 'stopped by you');
  return exitCode;
}

function run(program: string, args: readonly string[], output: 'pipe' | 'inherit'): Promise<Output> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', output, output], env: childEnvironment({}) });
    const texts = { stdout: '', stderr: '' };
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      texts.stdout += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      texts.stderr += text;
    });
    child.on('error', (cause) =>
      reject(
        new NotFound('program_missing', `${program} cannot be started: ${cause.message}`, {
          cause,
          hint: `Install ${program}; ./core doctor shows what else is missing.`,
        }),
      ),
    );
    child.on('close', (code, signal) =>
      resolve({
        ...texts,
        exitCode: code ?? (signal === 'SIGINT' ? exitCodes.interrupted : exitCodes.failed),
      }),
    );
  });
}

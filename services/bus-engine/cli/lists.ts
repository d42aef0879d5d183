import type { Command } from 'commander';
import * as t from 'io-ts';
import { askBus } from '#kit/bus/open-bus.ts';
import type { CommandContext, RunCommand } from '#kit/cli/program.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { decode, nullable, optional } from '#kit/decode.ts';
import { exitCodes } from '#kit/errors.ts';

const FunctionList = t.strict({
  functions: t.array(
    t.strict({
      function_id: t.string,
      worker_name: t.string,
      description: optional(nullable(t.string)),
    }),
  ),
});

const WorkerList = t.strict({
  workers: t.array(
    t.strict({
      id: t.string,
      name: optional(nullable(t.string)),
      version: optional(nullable(t.string)),
      runtime: optional(nullable(t.string)),
      status: optional(nullable(t.string)),
      function_count: optional(nullable(t.number)),
      active_invocations: optional(nullable(t.number)),
    }),
  ),
});

/** Time limit of an answer. */
const answerTimeoutMs = 10_000;

export function define(program: Command, run: RunCommand): void {
  program
    .command('functions')
    .description('list what can be called, and who provides it')
    .option('--prefix <id>', 'only ids that begin so')
    .option('--all', "the engine's own, too")
    .action(({ prefix, all }: { prefix?: string; all?: boolean }) =>
      run(async (context) => {
        const data = { ...(prefix === undefined ? {} : { prefix }), include_internal: all === true };
        const found = decode(FunctionList, await ask(context, 'engine::functions::list', data), 'the list');
        const rows = found.functions.map(({ function_id, worker_name, description }) => [
          function_id,
          worker_name,
          description ?? '',
        ]);
        return print(context, found, ['function', 'worker', 'what it does'], rows);
      }),
    );
  program
    .command('workers')
    .description('list who is connected')
    .action(() =>
      run(async (context) => {
        const found = decode(WorkerList, await ask(context, 'engine::workers::list', {}), 'the list');
        const rows = found.workers.map(
          ({ id, name, version, runtime, function_count, active_invocations }) => [
            name ?? id,
            `${runtime ?? ''} ${version ?? ''}`.trim(),
            `${function_count ?? 0} functions`,
            `${active_invocations ?? 0} calls`,
            id,
          ],
        );
        return print(context, found, ['worker', 'runtime', 'provides', 'answers', 'id'], rows);
      }),
    );
}

function ask(context: CommandContext, functionId: string, data: unknown): Promise<unknown> {
  return askBus(context, (bus) => bus.call(functionId, data, { timeoutMs: answerTimeoutMs }));
}

function print(
  { json }: CommandContext,
  found: unknown,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): number {
  if (json) {
    process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
    return exitCodes.done;
  }
  const shown = [head, ...rows].map((row) => row.map(visibleLine));
  const widths = head.map((_, nth) => Math.max(...shown.map((row) => row[nth]!.length)));
  for (const row of shown)
    process.stdout.write(
      `${row
        .map((text, nth) => text.padEnd(widths[nth]!))
        .join('  ')
        .trimEnd()}\n`,
    );
  return exitCodes.done;
}

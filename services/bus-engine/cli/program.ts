import type { Command } from 'commander';
import * as t from 'io-ts';
import { askBus } from '#kit/bus/open-bus.ts';
import { printResult } from '#kit/cli/output.ts';
import {
  type CommandContext,
  type ProgramStart,
  type RunCommand,
  runServiceProgram,
} from '#kit/cli/program.ts';
import { withCheck } from '#kit/cli/serve-command.ts';
import { type Column, tableLines } from '#kit/cli/table.ts';
import { decode, nullable, optional } from '#kit/decode.ts';
import { exitCodes } from '#kit/errors.ts';

const description = `The capability bus: programs call functions by name, whichever worker provides them.
Every command but serve asks the running bus; ./core up starts it.`;

export function runBusProgram(start: ProgramStart): Promise<number> {
  return runServiceProgram(start, { description, groups: [{ define }] });
}

const text = optional(nullable(t.string));
const number = optional(nullable(t.number));

const FunctionList = t.strict({
  functions: t.array(t.strict({ function_id: t.string, worker_name: t.string, description: text })),
});

const WorkerList = t.strict({
  workers: t.array(
    t.strict({
      id: t.string,
      name: text,
      version: text,
      runtime: text,
      status: text,
      function_count: number,
      active_invocations: number,
    }),
  ),
});

const functionColumns: readonly Column[] = [
  { title: 'function' },
  { title: 'worker', gives: { turn: 2, to: 'gone' } },
  { title: 'what it does', gives: { turn: 1, to: 20 }, excess: 'wrap' },
];

const workerColumns: readonly Column[] = [
  { title: 'worker' },
  { title: 'runtime', gives: { turn: 1, to: 'gone' } },
  { title: 'provides' },
  { title: 'answers' },
  { title: 'id', gives: { turn: 2, to: 8 } },
];

const answerTimeoutMs = 10_000;

function define(program: Command, run: RunCommand): void {
  const serve = program
    .command('serve')
    .description('run the engine here, until a signal comes')
    .option('--host <address>', 'where to listen')
    .option('--port <n>', 'on which port workers connect')
    .option('--http-port <n>', 'on which port HTTP triggers answer');
  withCheck(serve, run, () => import('../serve.ts'));
  program
    .command('functions')
    .description('list what can be called, and who provides it')
    .option('--prefix <id>', 'only ids that begin so')
    .option('--all', "the engine's own, too")
    .action(({ prefix, all }: { prefix?: string; all?: boolean }) =>
      run(async (context) => {
        const data = { ...(prefix === undefined ? {} : { prefix }), include_internal: all === true };
        const found = decode(FunctionList, await ask(context, 'engine::functions::list', data), 'the list');
        const rows = found.functions.map((one) => [one.function_id, one.worker_name, one.description ?? '']);
        printResult(context, found, (_, display) => tableLines(functionColumns, rows, display));
        return exitCodes.done;
      }),
    );
  program
    .command('workers')
    .description('list who is connected')
    .action(() =>
      run(async (context) => {
        const found = decode(WorkerList, await ask(context, 'engine::workers::list', {}), 'the list');
        const rows = found.workers.map((one) => [
          one.name ?? one.id,
          `${one.runtime ?? ''} ${one.version ?? ''}`.trim(),
          `${one.function_count ?? 0} functions`,
          `${one.active_invocations ?? 0} calls`,
          one.id,
        ]);
        printResult(context, found, (_, display) => tableLines(workerColumns, rows, display));
        return exitCodes.done;
      }),
    );
}

function ask(context: CommandContext, functionId: string, data: unknown): Promise<unknown> {
  return askBus(context, (bus) => bus.call(functionId, data, { timeoutMs: answerTimeoutMs }));
}

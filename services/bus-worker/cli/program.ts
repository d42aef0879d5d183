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
import { tableLines } from '#kit/cli/table.ts';
import { decode, parseJson } from '#kit/decode.ts';
import { exitCodes, InvalidInput } from '#kit/errors.ts';
import { describedFunctions } from '../functions.ts';

const description = `The platform's functions on the capability bus.
functions and call ask the running bus; ./core up starts it.`;

export function runWorkerProgram(start: ProgramStart): Promise<number> {
  return runServiceProgram(start, { description, groups: [{ define }] });
}

function define(program: Command, run: RunCommand): void {
  const serve = program
    .command('serve')
    .description('register the functions and answer calls, until a signal comes');
  withCheck(serve, run, () => import('../serve.ts'));
  program
    .command('functions')
    .description('what the platform offers on the bus, and whether it is there now; --json has the schemas')
    .action(() => run(listFunctions));
  program
    .command('call <function> [request]')
    .description('call a function with a request in JSON, and print its result')
    .option('--timeout <seconds>', 'how long to wait', '30')
    .action((id: string, request: string | undefined, options: { timeout: string }) =>
      run((context) => callFunction(context, { id, request: request ?? '{}', ...options })),
    );
}

const Listed = t.strict({ functions: t.array(t.strict({ function_id: t.string, worker_name: t.string })) });

/** Exit code 5 where one of them is not there. */
async function listFunctions(context: CommandContext): Promise<number> {
  const { functions } = await askBus(context, async (bus) => {
    const answer = await bus.call('engine::functions::list', { prefix: 'core.' });
    return decode(Listed, answer, 'the list of functions');
  });
  const rows = describedFunctions().map(({ id, description, request, response }) => {
    const worker = functions.find(({ function_id }) => function_id === id)?.worker_name ?? null;
    return { function_id: id, description, registered: worker !== null, worker, request, response };
  });
  printResult(context, { functions: rows }, (paint, display) =>
    tableLines(
      ['', '', { title: '', gives: { turn: 1, to: 16 }, excess: 'wrap' }],
      rows.map(({ function_id, description, registered }) => [
        registered ? { text: 'ok', paint: paint.green } : { text: 'missing', paint: paint.red },
        function_id,
        description,
      ]),
      display,
    ),
  );
  return rows.every(({ registered }) => registered) ? exitCodes.done : exitCodes.unavailable;
}

const maxSeconds = 86_400;

/** Exit code 1 where the function says that it could not do it. */
async function callFunction(
  context: CommandContext,
  call: { readonly id: string; readonly request: string; readonly timeout: string },
): Promise<number> {
  const seconds = Number(call.timeout);
  if (!(seconds > 0 && seconds <= maxSeconds))
    throw new InvalidInput(
      'invalid_option',
      `--timeout is '${call.timeout}': must be a number of seconds above 0, at most ${maxSeconds}`,
    );
  const data = parseJson(call.request, 'the request');
  const result = await askBus(context, (bus) => bus.call(call.id, data, { timeoutMs: seconds * 1000 }));
  process.stdout.write(`${JSON.stringify(result, null, context.json ? 0 : 2)}\n`);
  const failed = typeof result === 'object' && result !== null && 'ok' in result && result.ok === false;
  return failed ? exitCodes.failed : exitCodes.done;
}

import * as t from 'io-ts';
import { askBus } from '#kit/bus/open-bus.ts';
import type { CommandContext } from '#kit/cli/program.ts';
import { decode } from '#kit/decode.ts';
import { exitCodes } from '#kit/errors.ts';
import { describedFunctions } from '../functions/described.ts';

const Listed = t.strict({ functions: t.array(t.strict({ function_id: t.string, worker_name: t.string })) });

/** Exit code 5 where one of them is not there. */
export async function listFunctions(context: CommandContext): Promise<number> {
  const { functions } = await askBus(context, async (bus) => {
    const answer = await bus.call('engine::functions::list', { prefix: 'core.' });
    return decode(Listed, answer, 'the list of functions');
  });
  const rows = describedFunctions().map(({ id, description, request, response }) => {
    const worker = functions.find(({ function_id }) => function_id === id)?.worker_name ?? null;
    return { function_id: id, description, registered: worker !== null, worker, request, response };
  });
  if (context.json) process.stdout.write(`${JSON.stringify({ functions: rows }, null, 2)}\n`);
  else
    for (const { function_id, description, registered } of rows)
      process.stdout.write(
        `${registered ? 'ok     ' : 'missing'}  ${function_id.padEnd(27)}  ${description}\n`,
      );
  return rows.every(({ registered }) => registered) ? exitCodes.done : exitCodes.unavailable;
}

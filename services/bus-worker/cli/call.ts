import { askBus } from '#kit/bus/open-bus.ts';
import type { CommandContext } from '#kit/cli/program.ts';
import { parseJson } from '#kit/decode.ts';
import { exitCodes, InvalidInput } from '#kit/errors.ts';

const mostSeconds = 86_400;

/** Exit code 1 where the function says that it could not do it. */
export async function callFunction(
  context: CommandContext,
  call: { readonly id: string; readonly request: string; readonly timeout: string },
): Promise<number> {
  const seconds = Number(call.timeout);
  if (!(seconds > 0 && seconds <= mostSeconds))
    throw new InvalidInput(
      'invalid_option',
      `--timeout is '${call.timeout}': must be a number of seconds above 0, at most ${mostSeconds}`,
    );
  const data = parseJson(call.request, 'the request');
  const result = await askBus(context, (bus) => bus.call(call.id, data, { timeoutMs: seconds * 1000 }));
  process.stdout.write(`${JSON.stringify(result, null, context.json ? 0 : 2)}\n`);
  const failed = typeof result === 'object' && result !== null && 'ok' in result && result.ok === false;
  return failed ? exitCodes.failed : exitCodes.done;
}

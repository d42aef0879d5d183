import type { Command } from 'commander';
import * as t from 'io-ts';
import { connectBus } from '#kit/bus/websocket-bus.ts';
import type { CommandContext, RunCommand } from '#kit/cli/program.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { busAddress } from '#kit/config/bus-url.ts';
import { readSettings } from '#kit/config/settings.ts';
import { decode, nullable, optional } from '#kit/decode.ts';
import { environment } from '#kit/environment.ts';
import { exitCodes, Unavailable } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import { createLogger } from '#kit/log.ts';
import { Redactor } from '#kit/redaction.ts';
import { ownToken } from '#kit/tokens.ts';

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

const patienceMs = 3_000;

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
        return tell(context, found, ['function', 'worker', 'what it does'], rows);
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
        return tell(context, found, ['worker', 'runtime', 'provides', 'answers', 'id'], rows);
      }),
    );
}

/** @throws Unavailable (`bus_unavailable`), and what the call throws */
async function ask({ home, program }: CommandContext, functionId: string, data: unknown): Promise<unknown> {
  const folders = resolveFolders({ home }, environment);
  const { url, wants_token } = busAddress({ folders, environment });
  const { log } = readSettings({ folders, environment });
  const logger = createLogger({
    service: 'core-bus-engine',
    ...log,
    level: 'error',
    redactor: new Redactor(),
  });
  const bus = connectBus({
    url,
    token: wants_token ? ownToken(folders).text : null,
    name: 'core-bus-command',
    logger,
  });
  try {
    await bus.whenConnected(patienceMs).catch((cause: Error) => {
      const start = program.endsWith(' bus') ? `${program.slice(0, -4)} up` : `${program} serve`;
      throw new Unavailable('bus_unavailable', `the bus at ${url} cannot be used: ${cause.message}`, {
        cause,
        hint: `Start it: ${start}`,
      });
    });
    return await bus.call(functionId, data, { timeoutMs: patienceMs });
  } finally {
    await bus.close();
  }
}

function tell(
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

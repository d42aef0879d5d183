import type { Command } from 'commander';
import { choice } from '#kit/cli/choice.ts';
import type { Display } from '#kit/cli/display.ts';
import { filtersOf } from '#kit/cli/filters.ts';
import { printResult } from '#kit/cli/output.ts';
import type { CommandContext, RunCommand } from '#kit/cli/program.ts';
import { askService } from '#kit/cli/service-client.ts';
import { type Column, tableLines } from '#kit/cli/table.ts';
import { gatewayUrl } from '#kit/config/client-urls.ts';
import { type UsageLine, UsageReply, usageGroups } from '#kit/contracts/model-gateway/usage.ts';
import { environment } from '#kit/environment.ts';
import { exitCodes } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import type { HttpClient } from '#kit/http/client.ts';
import { dollarText, moneyOf } from '../../ledger/money.ts';

export function define(program: Command, run: RunCommand): void {
  program
    .command('usage')
    .description('what calls used and cost')
    .addOption(choice('--by <what>', 'a line for each', usageGroups).default('day'))
    .option('--from <day>', 'first day in UTC, YYYY-MM-DD')
    .option('--to <day>', 'last day in UTC, included')
    .action((options: { by: string; from?: string; to?: string }) =>
      run((context) =>
        withGateway(context, async (client) => {
          const query = new URLSearchParams({ ...options });
          const reply = await client.get(`/v1/usage?${query}`, UsageReply);
          printResult(context, reply, (_, display) =>
            usageLines(reply, filtersOf({ from: options.from, to: options.to }), display),
          );
          return exitCodes.done;
        }),
      ),
    );
}

const numbers: readonly Column[] = [
  { title: 'calls', right: true },
  { title: 'failed', right: true, gives: { turn: 3, to: 'gone' } },
  { title: 'aborted', right: true, gives: { turn: 2, to: 'gone' } },
  { title: 'input', right: true },
  { title: 'cached', right: true, gives: { turn: 1, to: 'gone' } },
  { title: 'output', right: true },
  { title: 'cost', right: true },
];

function usageLines({ by, rows, total }: UsageReply, filters: string, display: Display): string[] {
  if (rows.length === 0) return [filters === '' ? 'no calls' : `no calls with ${filters}`];
  const lines = tableLines(
    [{ title: by, gives: { turn: 4, to: 12 } }, ...numbers],
    [...rows, total].map(cellsOf),
    display,
  );
  const { estimated, unsettled, contradictory } = total;
  const cut = unsettled === 0 ? '' : `; ${unsettled} of them were cut off and count at what was reserved`;
  if (estimated > 0) lines.push(`tokens of ${estimated} of ${total.calls} calls are estimated${cut}`);
  if (contradictory > 0)
    lines.push(
      `upstreams reported contradictory tokens for ${contradictory} of ${total.calls} calls, which count at the highest reading`,
    );
  return lines;
}

function cellsOf(line: UsageLine): string[] {
  const { name, calls, failed, aborted, input_tokens, cached_tokens, output_tokens, cost } = line;
  const numbers = [calls, failed, aborted, input_tokens, cached_tokens, output_tokens];
  return [name, ...numbers.map((value) => value.toLocaleString('en')), dollarText(moneyOf(cost))];
}

/** @throws Unavailable (`http_unavailable`) with how to start it */
function withGateway<T>(context: CommandContext, work: (client: HttpClient) => Promise<T>): Promise<T> {
  const folders = resolveFolders({ home: context.home }, environment);
  const service = { name: 'core-model-gateway', baseUrl: gatewayUrl({ folders, environment }) } as const;
  return askService(context, { folders, service }, work);
}

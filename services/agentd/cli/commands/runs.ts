import type { Command } from 'commander';
import { choice } from '#kit/cli/choice.ts';
import { filtersOf } from '#kit/cli/filters.ts';
import { InvalidInput } from '#kit/errors.ts';
import { decodeRunQuery, type RunParameter, runParameters } from '../../runs/run-query.ts';
import type { RunPage, RunQuery } from '../../runs/run-store.ts';
import { answer, type CommandContext, type Run } from '../command.ts';
import { runsView } from '../views/runs-view.ts';

/** Its options are the query of `GET /v1/runs`. */
export function runs(program: Command, run: Run): void {
  const command = program.command('runs').description('list runs, newest first');
  for (const [name, { description, schema }] of Object.entries(runParameters)) {
    const values: readonly string[] | undefined = 'enum' in schema ? schema.enum : undefined;
    const text = description.replaceAll('`', '');
    const range =
      'default' in schema ? `, ${schema.minimum} to ${schema.maximum} (default: ${schema.default})` : '';
    const about = `${text[0]!.toLowerCase()}${text.slice(1)}${range}`;
    if (values === undefined) command.option(`--${name} <${name === 'text' ? name : 'value'}>`, about);
    else command.addOption(choice(`--${name} <${name}>`, about, values));
  }
  command.option('--all', 'every run on one page, also plannings that failed before there was a plan');
  command.action(
    run(async (context, { all = false, ...given }: RunsOptions) => {
      const { terminal, suggestions, services } = context;
      const query = runQueryOf(given, terminal.now());
      const without_failed_plannings = !all && query.status === undefined;
      const page = await (all ? wholeList : onePage)(services.agent, { ...query, without_failed_plannings });
      const runs_count = await services.agent.countRuns();
      const { cursor, ...rest } = given;
      const filters = filtersOf(given);
      const isWhole = !all && cursor === undefined && page.next_cursor === null && filters === '';
      const left_out = isWhole ? runs_count - page.runs.length : 0;
      const asked = Object.entries(rest).flatMap(([name, value]) => [`--${name}`, value]);
      return answer(context, { ...page, runs_count }, () =>
        runsView({ ...page, runs_count, left_out }, terminal, suggestions, asked, filters),
      );
    }),
  );
}

interface RunsOptions extends Readonly<Partial<Record<RunParameter, string>>> {
  readonly all?: boolean;
}

type RunLister = Pick<CommandContext['services']['agent'], 'runs'>;

function onePage(agent: RunLister, query: RunQuery): Promise<RunPage> {
  return agent.runs(query);
}

async function wholeList(agent: RunLister, query: RunQuery): Promise<RunPage> {
  let page = await agent.runs({ ...query, limit: 100 });
  const runs = [...page.runs];
  while (page.next_cursor !== null) {
    page = await agent.runs({ ...query, limit: 100, cursor: page.next_cursor });
    runs.push(...page.runs);
  }
  return { ...page, runs };
}

function runQueryOf(given: Readonly<Partial<Record<RunParameter, string>>>, now: Date): RunQuery {
  try {
    return decodeRunQuery(given, now);
  } catch (error) {
    const [wrong] = error instanceof InvalidInput && error.code === 'invalid_query' ? error.errors : [];
    if (wrong === undefined) throw error;
    throw new InvalidInput('invalid_option', `--${wrong.pointer.slice(1)} ${wrong.detail}`, { cause: error });
  }
}

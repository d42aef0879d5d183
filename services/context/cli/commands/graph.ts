import type { Command } from 'commander';
import { filtersOf } from '#kit/cli/filters.ts';
import { type Paint, printResult } from '#kit/cli/output.ts';
import type { RunCommand } from '#kit/cli/program.ts';
import { CypherReply } from '#kit/contracts/context/cypher.ts';
import { SearchReply } from '#kit/contracts/context/search.ts';
import { entityKinds } from '#kit/contracts/context/vocabulary.ts';
import { exitCodes } from '#kit/errors.ts';
import { runWithService } from '../client.ts';
import { collect, namedValue, wholeNumber } from '../option-values.ts';
import { counted, short } from '../output.ts';
import { tableOf } from '../table.ts';

interface SearchOptions {
  readonly limit?: string;
  readonly kind?: string[];
  readonly repository?: string;
  readonly asOf?: string;
}

export function define(program: Command, run: RunCommand): void {
  program
    .command('search')
    .description('files, symbols, documents, issues and runs that matter for a text, best first')
    .argument('<query...>', 'words, an error message, code')
    .option('--limit <n>', 'results at most, 1 to 100')
    .option('--kind <kind>', `only these, repeatable: ${entityKinds.join(', ')}`, collect)
    .option('--repository <name>', 'only of this one')
    .option('--as-of <time>', 'what was valid then')
    .action((words: string[], { limit, kind, repository, asOf }: SearchOptions) =>
      runWithService(run, async (client, context) => {
        const body = {
          query: words.join(' '),
          limit: wholeNumber('--limit', limit),
          kinds: kind,
          repository,
          as_of: asOf,
        };
        const reply = await client.post('/v1/graphrag/search', body, SearchReply);
        const filters = filtersOf({ kind, repository, asOf });
        printResult(context, reply, (paint) => searchLines(reply, paint, context.program, filters));
        return exitCodes.done;
      }),
    );
  program
    .command('cypher')
    .description('ask the graph; reading alone')
    .argument('<query>', "for example 'MATCH (r:ReasoningRun) RETURN r.run_id AS run, r.status AS status'")
    .option(
      '--param <name=value>',
      'named in the query as $name, repeatable; the value is JSON or a text',
      collect,
    )
    .option('--limit <n>', 'rows at most')
    .action((query: string, { param = [], limit }: { param?: string[]; limit?: string }) =>
      runWithService(run, async (client, context) => {
        const params = Object.fromEntries(param.map((text) => namedValue('--param', text)));
        const body = { query, params, limit: wholeNumber('--limit', limit) };
        const reply = await client.post('/v1/graphdb/cypher', body, CypherReply);
        printResult(context, reply, (paint) => tableLines(reply, paint));
        return exitCodes.done;
      }),
    );
}

function searchLines({ results }: SearchReply, paint: Paint, program: string, filters: string): string[] {
  const within = filters === '' ? '' : ` with ${short(filters, 200)}`;
  if (results.length === 0) return [`Nothing was found${within} in what ${program} repositories lists.`];
  return results.flatMap(({ id, score, kind, title, repository, path, start_line, why, snippet }) => {
    const place = path === null ? title : `${path}${start_line === null ? '' : `:${start_line}`}`;
    const terms = why.terms.slice(0, 6).join(' ');
    const edges = why.edges
      .toSorted((a, b) => Number(a.kind === 'changed_by') - Number(b.kind === 'changed_by'))
      .slice(0, 2)
      .map((edge) => `${edge.kind} ${edge.from.replace(/@([0-9a-f]{10})[0-9a-f]{30,54}$/, '@$1')}`);
    const because = [terms, ...edges].filter((part) => part !== '').join(' · ');
    return [
      `${paint.dim(score.toFixed(2))}  ${paint.bold(short(place, 120))}  ${kind}${path === null ? '' : ` ${short(title, 60)}`}  ${paint.dim(short(repository ?? '', 60))}`,
      `      ${paint.dim(short(id, 300))}`,
      ...(because === '' ? [] : [`      ${paint.dim(short(because, 140))}`]),
      ...(snippet === '' ? [] : [`      ${short(snippet, 140)}`]),
    ];
  });
}

/** Characters of a cell on a terminal. */
const maxCell = 60;

function tableLines({ columns, rows, truncated, took_ms, engine }: CypherReply, paint: Paint): string[] {
  const [head = '', ...lines] = tableOf(
    columns,
    rows,
    process.stdout.isTTY ? maxCell : Number.POSITIVE_INFINITY,
  );
  const more = truncated ? ', there are more: --limit' : '';
  return [
    paint.bold(head),
    ...lines,
    paint.dim(`${counted(rows.length, 'row')}${more}; ${engine}, ${Math.round(took_ms)} ms`),
  ];
}

import type { Command } from 'commander';
import { choice } from '#kit/cli/choice.ts';
import type { Display } from '#kit/cli/display.ts';
import { filtersOf } from '#kit/cli/filters.ts';
import { type Paint, printResult } from '#kit/cli/output.ts';
import type { RunCommand } from '#kit/cli/program.ts';
import { type Cell, type Column, tableLines } from '#kit/cli/table.ts';
import { CypherReply } from '#kit/contracts/context/cypher.ts';
import { SearchReply } from '#kit/contracts/context/search.ts';
import { entityKinds } from '#kit/contracts/context/vocabulary.ts';
import { counted } from '#kit/counted.ts';
import { exitCodes } from '#kit/errors.ts';
import { runWithService } from '../client.ts';
import { collect, namedValue, wholeNumber } from '../option-values.ts';
import { indented, short } from '../output.ts';
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
    .argument('<words...>', 'words, an error message, code')
    .option('--limit <n>', 'results at most, 1 to 100')
    .addOption(choice('--kind <kind>', 'only these, repeatable', entityKinds, { repeatable: true }))
    .option('--repository <name>', 'only of this one')
    .option('--as-of <time>', 'what was valid then')
    .action((query: string, { limit, kind, repository, asOf }: SearchOptions) =>
      runWithService(run, async (client, context) => {
        const body = {
          query,
          limit: wholeNumber('--limit', limit),
          kinds: kind,
          repository,
          as_of: asOf,
        };
        const reply = await client.post('/v1/graphrag/search', body, SearchReply);
        const filters = filtersOf({ kind, repository, asOf });
        printResult(context, reply, (paint, display) =>
          searchLines(reply, paint, { program: context.program, filters, display }),
        );
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
        printResult(context, reply, (paint, display) => replyLines(reply, paint, display));
        return exitCodes.done;
      }),
    );
}

const foundColumns: readonly Column[] = [
  { title: '' },
  { title: '', gives: { turn: 3, to: 24 }, excess: 'cutStart' },
  { title: '', gives: { turn: 2, to: 16 } },
  { title: '', gives: { turn: 1, to: 'gone' } },
];

function searchLines(
  { results }: SearchReply,
  paint: Paint,
  {
    program,
    filters,
    display,
  }: { readonly program: string; readonly filters: string; readonly display: Display },
): string[] {
  const within = filters === '' ? '' : ` with ${short(filters, 200)}`;
  if (results.length === 0) return [`Nothing was found${within} in what ${program} repositories lists.`];
  return results.flatMap(({ id, score, kind, title, repository, path, start_line, why, snippet }) => {
    const place = path === null ? title : `${path}${start_line === null ? '' : `:${start_line}`}`;
    const terms = why.terms.slice(0, 6).join(' ');
    const edges = why.edges
      .toSorted((a, b) => Number(a.kind === 'changed_by') - Number(b.kind === 'changed_by'))
      .slice(0, 2)
      .map((edge) => `${edge.kind} ${edge.from.replace(/@([0-9a-f]{10})[0-9a-f]{30,54}$/, '@$1')}`);
    const because = [terms, ...edges].filter((part) => part !== '').join(` ${display.symbols.dot} `);
    const found: Cell[] = [
      { text: score.toFixed(2), paint: paint.dim },
      { text: short(place, 120), paint: paint.bold },
      path === null ? kind : `${kind} ${short(title, 60)}`,
      { text: short(repository ?? '', 60), paint: paint.dim },
    ];
    return [
      ...tableLines(foundColumns, [found], display),
      ...indented(short(id, 300), display).map(paint.dim),
      ...(because === '' ? [] : indented(short(because, 140), display).map(paint.dim)),
      ...(snippet === '' ? [] : indented(short(snippet, 140), display)),
    ];
  });
}

/** Characters of a cell on a terminal. */
const maxCell = 60;

function replyLines(
  { columns, rows, truncated, took_ms, engine }: CypherReply,
  paint: Paint,
  display: Display,
): string[] {
  const max = display.width === Number.POSITIVE_INFINITY ? display.width : maxCell;
  const more = truncated ? ', there are more: --limit' : '';
  return [
    ...tableOf(columns, rows, max, display, paint.bold),
    paint.dim(`${counted(rows.length, 'row')}${more}; ${engine}, ${Math.round(took_ms)} ms`),
  ];
}

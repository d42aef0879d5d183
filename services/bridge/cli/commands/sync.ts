import type { Command } from 'commander';
import type { Display } from '#kit/cli/display.ts';
import { type Paint, printNote, printResult } from '#kit/cli/output.ts';
import type { CommandContext, RunCommand } from '#kit/cli/program.ts';
import { CatchUpReply, SyncReply, SyncRepositories } from '#kit/contracts/bridge/sync.ts';
import { codeOf, exitCodes, InvalidInput, messageOf, Unavailable } from '#kit/errors.ts';
import type { HttpClient } from '#kit/http/client.ts';
import { repositoryOption } from '#kit/repository-name.ts';
import { timeSpanMs } from '#kit/time-span.ts';
import { asking } from '../client.ts';
import { moment, short } from '../output.ts';

/** Milliseconds: a forge is asked page by page, and dashboards get one summary after the other. */
const syncMs = 600_000;

interface Options {
  readonly since?: string;
  readonly repository?: Repository;
  readonly forge?: string;
  readonly retryDead?: boolean;
}

interface Repository {
  readonly owner: string;
  readonly repo: string;
}

/** A repository that could not be asked. */
interface Failure extends Repository {
  readonly forge: string | null;
  readonly problem: { readonly code: string; readonly message: string };
}

export function define(program: Command, run: RunCommand): void {
  program
    .command('sync')
    .description('catch up on what forges did not deliver, and report run states to dashboards')
    .option('--since <time>', 'ask the forges since then: RFC 3339, or a span such as 12h or 7d', timeOf)
    .option('--repository <owner/repo>', 'ask about this repository alone', repositoryOption('--repository'))
    .option('--forge <name>', 'with --repository: the forge, where several know it')
    .option('--retry-dead', 'also deliver what was given up')
    .action(asking(run, sync, syncMs));
}

async function sync(context: CommandContext, client: HttpClient, options: Options): Promise<number> {
  const { asked, failures } = await catchUp(client, options, context.display);
  const delivered = await client.post(
    '/v1/sync/agent-to-dashboard',
    { retry_dead: options.retryDead ?? false },
    SyncReply,
  );
  printResult(
    context,
    { repositories: [...asked, ...failures.map(({ error, ...failure }) => failure)], told: delivered },
    (paint) => [...askedLines(asked, failures, paint), ...deliveryLines(delivered, paint)],
  );
  if (failures.some(({ error }) => error instanceof Unavailable)) return exitCodes.unavailable;
  return failures.length > 0 || delivered.failed > 0 ? exitCodes.failed : exitCodes.done;
}

async function catchUp(client: HttpClient, { since, repository, forge }: Options, display: Display) {
  const known = (await client.get('/v1/sync/repositories', SyncRepositories)).repositories;
  const wanted =
    repository === undefined
      ? known.filter((one) => forge === undefined || one.forge === forge)
      : [{ ...repository, forge: forge ?? null }];
  const asked: CatchUpReply[] = [];
  const failures: (Failure & { readonly error: unknown })[] = [];
  for (const { forge: name, owner, repo } of wanted) {
    printNote(`asking ${name ?? 'the forge'} what changed in ${short(`${owner}/${repo}`, 200)}\n`, display);
    try {
      const body = { forge: name, owner, repo, ...(since === undefined ? {} : { since }) };
      asked.push(await client.post('/v1/sync/forge-to-agent', body, CatchUpReply));
    } catch (error) {
      // The bridge itself does not answer, or a person named a repository that cannot be asked about.
      const named = repository !== undefined && error instanceof InvalidInput;
      if (named || codeOf(error) === 'http_unavailable') throw error;
      failures.push({
        forge: name,
        owner,
        repo,
        problem: { code: codeOf(error), message: messageOf(error) },
        error,
      });
    }
  }
  return { asked, failures };
}

function askedLines(asked: readonly CatchUpReply[], failures: readonly Failure[], paint: Paint): string[] {
  if (asked.length + failures.length === 0)
    return [
      'No webhook of a forge ever came, so no forge was asked: --repository OWNER/REPO --since 7d asks about one.',
    ];
  const sum = (count: (one: CatchUpReply) => number) => asked.reduce((total, one) => total + count(one), 0);
  const refused = sum((one) => one.refused.length);
  return [
    ...asked.flatMap((one) => repositoryLines(one, paint)),
    ...failures.map(
      ({ forge, owner, repo, problem }) =>
        `${short(`${forge ?? ''} ${owner}/${repo}`.trim(), 100)}  ${paint.red(short(problem.message, 300))}`,
    ),
    `${sum((one) => one.asked)} issues asked about, ${sum((one) => one.new)} new, ${sum((one) => one.known)} already known, ${refused} refused`,
  ];
}

function repositoryLines({ forge, owner, repo, since, asked, ...one }: CatchUpReply, paint: Paint): string[] {
  const name = short(`${forge} ${owner}/${repo}`, 100);
  const counts =
    asked === 0
      ? 'nothing changed'
      : `${one.new} new, ${one.known} already known, ${one.refused.length} refused`;
  return [
    `${name}  since ${moment(since)}  ${counts}`,
    ...one.refused.map(({ number, message }) => paint.dim(`  #${number}  ${short(message, 200)}`)),
  ];
}

function deliveryLines({ runs, queued, delivered, failed, dashboards }: SyncReply, paint: Paint): string[] {
  const all = Object.entries(dashboards);
  if (all.length === 0)
    return ['No dashboard is configured: sync.dashboards of config/bridge.json names them.'];
  const wrong = failed === 0 ? '' : paint.red(`, ${failed} failed`);
  return [
    `${runs} runs, ${queued} new states, ${delivered} delivered${wrong}`,
    ...all.map(([name, { waiting, dead, problem }]) => {
      const why = problem === null ? '' : `  ${short(problem, 200)}`;
      return `${name}  ${waiting} waiting, ${dead} given up${why}`;
    }),
  ];
}

function timeOf(text: string): string {
  const span = timeSpanMs(text);
  const time = span === null ? Date.parse(text) : Date.now() - span;
  if (!Number.isNaN(time) && (span !== null || /^\d{4}-\d{2}-\d{2}T.*(Z|[+-]\d{2}:\d{2})$/.test(text)))
    return new Date(time).toISOString();
  throw new InvalidInput(
    'invalid_option',
    `--since '${text}' is no time: it must be RFC 3339, for example 2026-11-23T08:00:00Z, or a number and one of m, h, d, w, for example 7d`,
  );
}

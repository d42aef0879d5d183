import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Display } from '#kit/cli/display.ts';
import { type Paint, printResult } from '#kit/cli/output.ts';
import type { RunCommand } from '#kit/cli/program.ts';
import { type Cell, type Column, tableLines } from '#kit/cli/table.ts';
import { CypherReply } from '#kit/contracts/context/cypher.ts';
import type { WantedRepository } from '#kit/contracts/context/refresh.ts';
import { RefreshStatus, RepositoriesReply } from '#kit/contracts/context/status.ts';
import { Health } from '#kit/contracts/health.ts';
import { counted } from '#kit/counted.ts';
import { CoreError, exitCodes, InvalidInput } from '#kit/errors.ts';
import type { HttpClient } from '#kit/http/client.ts';
import { runWithService } from '../client.ts';
import { short } from '../output.ts';

interface RefreshOptions {
  readonly full?: boolean;
  readonly rebuild?: boolean;
  readonly wait?: boolean;
  readonly name?: string;
}

const askEveryMs = 150;
const waitMs = 600_000;

export function define(program: Command, run: RunCommand): void {
  program
    .command('refresh')
    .description('read what changed in repositories: all that are known, or those named by path or name')
    .argument('[repositories...]', 'paths of git repositories, or names of known ones')
    .option('--full', 'read every file again, not only what changed')
    .option('--rebuild', 'make indexes and projections again, all of them')
    .option('--wait', 'until Cypher knows it too')
    .option('--name <name>', 'keep the repository under this name, for example demo/hello')
    .action((given: string[], options: RefreshOptions) =>
      runWithService(run, async (client, context) => {
        const status = await followed(client, bodyOf(given, options));
        const lag = options.wait === true ? await waitForProjection(client, waitMs) : await readLag(client);
        printResult(context, status, (paint) => [...statusLines(status, paint), ...lagLines(lag, paint)]);
        if (!isWell(status)) return exitCodes.failed;
        const isLate = options.wait === true && (lag?.changes ?? 0) > 0;
        return isLate ? exitCodes.unavailable : exitCodes.done;
      }),
    );
  program
    .command('repositories')
    .description('repositories that were read')
    .action(() =>
      runWithService(run, async (client, context) => {
        const reply = await client.get('/v1/repositories', RepositoriesReply);
        printResult(context, reply, (paint, display) =>
          repositoryLines(reply, paint, { program: context.program, display }),
        );
        return exitCodes.done;
      }),
    );
}

/** Starts it, shows how it goes, and gives its end. */
async function followed(client: HttpClient, body: unknown): Promise<RefreshStatus> {
  let status = await client.post('/v1/admin/refresh', body, RefreshStatus);
  const { createProgressBar } = await import('../progress-bar.ts');
  const bar = createProgressBar(process.stderr);
  try {
    while (status.state === 'running') {
      if (status.progress !== null) bar.show(status.progress);
      await setTimeout(askEveryMs);
      status = await client.get(`/v1/admin/refresh?id=${status.id}`, RefreshStatus);
    }
    return status;
  } finally {
    bar.end();
  }
}

function bodyOf(given: readonly string[], { full, rebuild, name }: RefreshOptions): unknown {
  if (name !== undefined && given.length !== 1) {
    throw new InvalidInput('usage', `--name names one repository: ${given.length} were given`);
  }
  if (rebuild === true && given.length > 0) {
    throw new InvalidInput(
      'usage',
      `--rebuild makes all indexes and projections again, not those of ${given.map((word) => JSON.stringify(short(word, 100))).join(', ')}`,
      { hint: 'Leave the names out; or read every file of one again with --full.' },
    );
  }
  const repositories = given.map((word): WantedRepository => {
    const path = pathOf(word);
    if (name === undefined) return path ?? word;
    if (path !== null) return { name, path, commit: undefined };
    throw new InvalidInput(
      'invalid_option',
      `--name needs the path of a repository: ${JSON.stringify(word)} is none`,
    );
  });
  return { repositories: given.length === 0 ? undefined : repositories, full, rebuild, wait: false };
}

/** Absolute path of what is written like a path or is one here; null for a name. */
function pathOf(word: string): string | null {
  return /^[./~]/.test(word) || existsSync(word) ? resolve(word) : null;
}

function isWell({ state, repositories }: RefreshStatus): boolean {
  return state === 'done' && repositories.every((one) => !('error' in one));
}

function statusLines({ repositories, rebuilt, error, state }: RefreshStatus, paint: Paint): string[] {
  const lines = rebuilt.map((name) => `made again  ${name}`);
  for (const one of repositories) {
    if ('error' in one) {
      lines.push(
        `${paint.red('failed')}  ${one.repository}  ${short(one.error.detail, 300)}  [${one.error.code}]`,
      );
      continue;
    }
    const { repository, commit, files, read, closed, symbols, edges, took_ms } = one;
    lines.push(
      `${paint.bold(repository)} @ ${commit?.slice(0, 7) ?? 'no commit yet'}  in ${(took_ms / 1000).toFixed(1)} s`,
    );
    lines.push(
      `  ${counted(files, 'file')}, ${read} read, ${closed} closed; ${counted(symbols, 'symbol')}, ${counted(edges, 'edge')}`,
    );
    const skipped = Object.entries(one.skipped).filter(([, count]) => count > 0);
    if (skipped.length > 0)
      lines.push(
        `  left out: ${skipped.map(([why, count]) => `${count} ${why.replaceAll('_', ' ')}`).join(', ')}`,
      );
  }
  if (error !== null) lines.push(`${paint.red('failed')}  ${short(error.detail, 300)}  [${error.code}]`);
  if (lines.length === 0 && state === 'done')
    lines.push('No repository is configured or known: name the path of one.');
  return lines;
}

/** Searches know at once what was read; Cypher runs on a copy. */
function lagLines(lag: Lag | null, paint: Paint): string[] {
  if (lag === null || lag.changes === 0) return [];
  const follows =
    lag.engine === 'neo4j'
      ? 'the mirror follows by itself'
      : 'it reads them at the next query, or when nobody writes';
  return [
    paint.dim(
      `Cypher (${lag.engine}) is ${counted(lag.changes, 'change')} behind: ${follows}; --wait waits for it`,
    ),
  ];
}

const columns: readonly Column[] = [
  { title: '' },
  { title: '', gives: { turn: 2, to: 'gone' } },
  { title: '', right: true },
  { title: '' },
  { title: '', gives: { turn: 1, to: 12 }, excess: 'cutStart' },
];

function repositoryLines(
  { repositories }: RepositoriesReply,
  paint: Paint,
  { program, display }: { readonly program: string; readonly display: Display },
): string[] {
  if (repositories.length === 0) return [`None was read yet: ${program} refresh PATH`];
  const rows = repositories.map(({ repository, commit, files, at, complete, path }): Cell[] => {
    const when = at === null ? 'not read to the end yet' : at.slice(0, 16).replace('T', ' ');
    const read = complete || at === null ? when : `${when}, not to the end`;
    return [
      repository,
      commit?.slice(0, 7) ?? '-',
      counted(files, 'file'),
      { text: read, paint: read === when ? undefined : paint.yellow },
      { text: short(path, 200), paint: paint.dim },
    ];
  });
  return [
    ...tableLines(columns, rows, display),
    ...sameCommit(repositories).map((names) =>
      paint.dim(
        `${names} have the same commit: one repository under several names? refresh PATH --name NAME reads it under one`,
      ),
    ),
  ];
}

function sameCommit(repositories: RepositoriesReply['repositories']): string[] {
  const byCommit = Map.groupBy(
    repositories.filter(({ commit }) => commit !== null),
    ({ commit }) => commit,
  );
  return [...byCommit.values()]
    .filter((same) => same.length > 1)
    .map((same) => same.map(({ repository }) => repository).join(' and '));
}

/** How far Cypher is behind the record. */
interface Lag {
  readonly engine: string;
  readonly changes: number;
}

const askProjectionEveryMs = 250;

/** As `/healthz` says it; null where it does not. */
async function readLag(client: HttpClient): Promise<Lag | null> {
  const health = await client.get('/healthz', Health).catch((error: unknown) => {
    if (error instanceof CoreError) return null;
    throw error;
  });
  const { detail, backlog } = health?.checks.cypher ?? {};
  if (detail === undefined) return null;
  return { engine: detail.split(':', 1)[0]!, changes: backlog?.waiting ?? 0 };
}

/**
 * Waits until Cypher knows what was committed when this was called. The embedded engine reads what is new when it is asked; a mirror
 * follows by itself.
 * @returns what is left when the time is over
 */
async function waitForProjection(client: HttpClient, milliseconds: number): Promise<Lag | null> {
  const end = performance.now() + milliseconds;
  for (;;) {
    const lag = await readLag(client);
    if (lag === null || lag.changes === 0 || performance.now() > end) return lag;
    if (lag.engine !== 'neo4j') await runQuery(client);
    await setTimeout(askProjectionEveryMs);
  }
}

async function runQuery(client: HttpClient): Promise<void> {
  try {
    const body = { query: 'MATCH (t:Task) RETURN t.id AS id', limit: 1 };
    await client.post('/v1/graphdb/cypher', body, CypherReply);
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
  }
}

import type { Command } from 'commander';
import type { RunCommand } from '#kit/cli/program.ts';
import { environment } from '#kit/environment.ts';
import { exitCodes } from '#kit/errors.ts';
import { readGatewayConfig } from '../../configuration.ts';
import { minHiddenLength } from '../../providers/mask.ts';
import { modelFolders } from '../models-file.ts';
import { noModel, printJson, printTable } from '../table.ts';
import { openUpstreams, probe } from '../upstreams-of.ts';

const waitMs = 30_000;

export function define(program: Command, run: RunCommand): void {
  program
    .command('check')
    .description('ask each upstream its smallest request')
    .action(() =>
      run(async ({ home, json, program: name }) => {
        const folders = modelFolders(home);
        const config = readGatewayConfig({ folders, environment });
        const { all, close } = openUpstreams(config, folders, 'check');
        const results = await Promise.all(
          all.map(async ({ model, kind, credential, upstream, entry }) => ({
            model,
            upstream: upstream.name,
            kind: entry.kind,
            credential,
            priced: entry.price != null,
            ...(await probe(upstream, kind, waitMs)),
          })),
        ).finally(close);
        if (json) printJson({ ok: results.every(({ ok }) => ok), upstreams: results });
        else if (results.length === 0) process.stdout.write(noModel(name));
        else printResults(results);
        return results.every(({ ok }) => ok) ? exitCodes.done : exitCodes.unavailable;
      }),
    );
}

interface Result {
  readonly model: string;
  readonly upstream: string;
  readonly credential: string;
  readonly priced: boolean;
  readonly ok: boolean;
  readonly detail: string;
  readonly ms: number;
}

function printResults(results: readonly Result[]): void {
  printTable(
    [
      { title: 'model' },
      { title: 'upstream' },
      { title: 'credential' },
      { title: 'ms', right: true },
      { title: '' },
    ],
    results.map(({ model, upstream, credential, ms, ok, detail }) => [
      model,
      upstream,
      credential,
      String(ms),
      ok ? `ok, ${detail}` : `failed: ${detail}`,
    ]),
  );
  const free = results.filter(({ priced }) => !priced).map(({ upstream }) => upstream);
  const short = results.filter(({ credential }) => credential === 'short').map(({ upstream }) => upstream);
  if (short.length > 0) {
    process.stdout.write(
      `with a key of fewer than ${minHiddenLength} characters, which is not hidden where they repeat it: ${short.join(', ')}\n`,
    );
  }
  if (free.length > 0) process.stdout.write(`without a price, so that no budget binds: ${free.join(', ')}\n`);
}

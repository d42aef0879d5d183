import type { Command } from 'commander';
import type { Display } from '#kit/cli/display.ts';
import { printResult } from '#kit/cli/output.ts';
import type { RunCommand } from '#kit/cli/program.ts';
import { tableLines } from '#kit/cli/table.ts';
import { environment } from '#kit/environment.ts';
import { exitCodes } from '#kit/errors.ts';
import { readGatewayConfig } from '../../configuration.ts';
import { minHiddenLength } from '../../providers/mask.ts';
import { modelFolders } from '../models-file.ts';
import { noModel, openUpstreams, probe } from '../upstreams-of.ts';

const waitMs = 30_000;

export function define(program: Command, run: RunCommand): void {
  program
    .command('check')
    .description('ask each upstream its smallest request, by each interface of its own')
    .action(() =>
      run(async (context) => {
        const folders = modelFolders(context.home);
        const config = readGatewayConfig({ folders, environment });
        const { all, close } = openUpstreams(config, folders, 'check');
        const results = await Promise.all(
          all.flatMap(({ model, credential, upstream, entry, endpoints }) =>
            endpoints.map(async (endpoint) => ({
              model,
              upstream: upstream.name,
              kind: entry.kind,
              endpoint,
              credential,
              priced: entry.price != null,
              ...(await probe(upstream, endpoint, waitMs)),
            })),
          ),
        ).finally(close);
        const ok = results.every((result) => result.ok);
        printResult(context, { ok, upstreams: results }, (_, display) =>
          results.length === 0 ? [noModel(context.program)] : resultLines(results, display),
        );
        return ok ? exitCodes.done : exitCodes.unavailable;
      }),
    );
}

interface Result {
  readonly model: string;
  readonly upstream: string;
  readonly endpoint: string;
  readonly credential: string;
  readonly priced: boolean;
  readonly ok: boolean;
  readonly detail: string;
  readonly ms: number;
}

function resultLines(results: readonly Result[], display: Display): string[] {
  const lines = tableLines(
    [
      'model',
      { title: 'upstream', gives: { turn: 2, to: 16 }, excess: 'wrap' },
      'credential',
      { title: 'ms', right: true, gives: { turn: 3, to: 'gone' } },
      { title: '', gives: { turn: 1, to: 24 }, excess: 'wrap' },
    ],
    results.map(({ model, upstream, endpoint, credential, ms, ok, detail }) => {
      const by = endpoint === 'responses' ? ' by Responses' : '';
      return [model, upstream, credential, String(ms), ok ? `ok${by}, ${detail}` : `failed${by}: ${detail}`];
    }),
    display,
  );
  const free = [...new Set(results.filter(({ priced }) => !priced).map(({ upstream }) => upstream))];
  const short = [
    ...new Set(results.filter(({ credential }) => credential === 'short').map(({ upstream }) => upstream)),
  ];
  if (short.length > 0) {
    lines.push(
      `with a key of fewer than ${minHiddenLength} characters, which is not hidden where they repeat it: ${short.join(', ')}`,
    );
  }
  if (free.length > 0) lines.push(`without a price, so that no budget binds: ${free.join(', ')}`);
  return lines;
}

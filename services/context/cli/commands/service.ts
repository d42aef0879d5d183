import type { Command } from 'commander';
import { printResult } from '#kit/cli/output.ts';
import type { RunCommand } from '#kit/cli/program.ts';
import { defineServe } from '#kit/cli/serve-command.ts';
import { CheckReply } from '#kit/contracts/context/status.ts';
import { counted } from '#kit/counted.ts';
import { exitCodes } from '#kit/errors.ts';
import { runWithService } from '../client.ts';
import { short } from '../output.ts';

export function define(program: Command, run: RunCommand): void {
  defineServe(program, run, () => import('../../http/serve.ts'));
  program
    .command('check')
    .description('check the record, and compare it with its mirror')
    .action(() =>
      runWithService(run, async (client, context) => {
        const found = await client.get('/v1/admin/check', CheckReply);
        printResult(context, found, (paint) =>
          checkLines(found, (ok) => (ok ? paint.green('ok    ') : paint.red('broken'))),
        );
        return found.ok ? exitCodes.done : exitCodes.failed;
      }),
    );
}

function checkLines({ record, graph, took_ms }: CheckReply, word: (ok: boolean) => string): string[] {
  const { nodes = 0, edges = 0, memories = 0, texts = 0 } = record.counts;
  const counts = [
    counted(nodes, 'node'),
    counted(edges, 'edge'),
    counted(memories, 'memory', 'memories'),
    counted(texts, 'text'),
  ];
  const sound = record.damage.length === 0 && record.orphans === 0;
  return [
    `${word(sound)}  record  ${counts.join(', ')}`,
    ...record.damage.map((text) => `                ${short(text, 200)}`),
    ...(record.orphans === 0
      ? []
      : [`                ${counted(record.orphans, 'row')} without what they name`]),
    `${word(graph.ok)}  ${graph.engine.padEnd(6)}  ${short(graph.detail, 200)}`,
    ...graph.differences.map((text) => `                ${short(text, 200)}`),
    `checked in ${(took_ms / 1000).toFixed(1)} s`,
  ];
}

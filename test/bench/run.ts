import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { agent } from './agent.ts';
import { append } from './append.ts';
import { bridge } from './bridge.ts';
import { bus } from './bus.ts';
import { type Benchmark, type Comparison, isMet } from './comparison.ts';
import { contextMemory } from './context-memory.ts';
import { execute } from './execute.ts';
import { gateway } from './gateway.ts';
import { hosts } from './hosts.ts';
import { ingest } from './ingest.ts';
import { listOverHttp } from './list-over-http.ts';
import { memory } from './memory.ts';
import { review } from './review.ts';
import { search } from './search.ts';
import { stack } from './stack.ts';
import { start } from './start.ts';
import { terminal } from './terminal.ts';

/** `npm run bench -- [NAME…] [--json]`: ends with 1 when a bar was missed. */
const benchmarks: Readonly<Record<string, Benchmark>> = {
  start,
  stack,
  append,
  execute,
  'list-over-http': listOverHttp,
  search,
  memory,
  ingest,
  'context-memory': contextMemory,
  gateway,
  agent,
  bus,
  bridge,
  terminal,
  review,
  hosts,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false } },
});
const unknown = positionals.filter((name) => !Object.hasOwn(benchmarks, name));
if (unknown.length > 0) {
  process.stderr.write(
    `there is no benchmark '${unknown[0]}'; the choices are ${Object.keys(benchmarks).join(', ')}\n`,
  );
  process.exit(2);
}

// Beside the packages and not in the temporary folder, which may be memory: durable writes would cost nothing there.
const place = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url));
mkdirSync(place, { recursive: true });
const folder = mkdtempSync(`${place}core-bench-`);
process.env.TMPDIR = folder;
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const results: Record<string, readonly Comparison[]> = {};
for (const name of positionals.length > 0 ? positionals : Object.keys(benchmarks)) {
  const benchmark = benchmarks[name]!;
  if (!values.json) process.stdout.write(`${name}: ${benchmark.summary}\n`);
  const own = mkdtempSync(`${folder}/${name}-`);
  const comparisons = await benchmark.run(own);
  rmSync(own, { recursive: true });
  results[name] = comparisons;
  if (!values.json) for (const comparison of comparisons) process.stdout.write(`${lineOf(comparison)}\n`);
}
const all = Object.entries(results).flatMap(([benchmark, comparisons]) =>
  comparisons.map((comparison) => ({ benchmark, ...comparison, met: isMet(comparison) })),
);
if (values.json)
  process.stdout.write(`${JSON.stringify({ node: process.version, comparisons: all }, null, 2)}\n`);
process.exit(all.every(({ met }) => met) ? 0 : 1);

function lineOf(comparison: Comparison): string {
  const { subject, yardstick, measure, bar, ratio, spread, rounds } = comparison;
  const [low, high] = spread;
  return [
    `  ${isMet(comparison) ? 'met   ' : 'MISSED'}  ${subject}: ${ratio.toFixed(2)} of the ${measure} of ${yardstick}`,
    `          ${measure === 'rate' ? 'at least' : 'at most'} ${bar}; half of ${rounds} rounds between ${low.toFixed(2)} and ${high.toFixed(2)}`,
  ].join('\n');
}

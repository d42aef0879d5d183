import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runTrial } from './trial.ts';

/** `npm run soak -- [--minutes N] [--seed N] [--every SECONDS] [--cases N]`: ends with 1 where anything was lost or doubled. */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    every: { type: 'string', default: '10' },
    cases: { type: 'string', default: '6' },
  },
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const folder = mkdtempSync(join(tmpdir(), 'core-soak-'));
const started = performance.now();
say(`seed ${values.seed}, ${values.minutes} minutes, a fault every ${values.every} s, in ${folder}`);
const { problems, faults, counts } = await runTrial({
  folder,
  say,
  seed: Number(values.seed),
  loadMs: Number(values.minutes) * 60_000,
  faultEveryMs: Number(values.every) * 1000,
  cases: Number(values.cases),
});
table('Faults', faults);
table('Load', counts);
table('Lost or doubled', new Map(Object.entries(problems).map(([what, ones]) => [what, ones.length])));
for (const [what, ones] of Object.entries(problems))
  for (const one of ones.slice(0, 20)) say(`${what}: ${one}`);
const clean = Object.values(problems).every((ones) => ones.length === 0);
if (clean) rmSync(folder, { recursive: true, force: true });
else say(`what is left is in ${folder}`);
process.exit(clean ? 0 : 1);

function say(text: string): void {
  const seconds = Math.round((performance.now() - started) / 1000);
  process.stdout.write(
    `${String(Math.floor(seconds / 60)).padStart(3)}:${String(seconds % 60).padStart(2, '0')}  ${text}\n`,
  );
}

function table(title: string, rows: ReadonlyMap<string, number>): void {
  process.stdout.write(`\n${title}\n`);
  for (const [what, count] of [...rows].sort(([a], [b]) => (a < b ? -1 : 1)))
    process.stdout.write(`  ${what.padEnd(60)} ${String(count).padStart(6)}\n`);
}

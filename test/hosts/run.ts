import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { faultNames, losing } from './faults.ts';
import { runTrial } from './trial.ts';

const help = `npm run soak -- [options]
  Three hosts do the whole work under load while one thing after another fails; ends with 1 if anything was lost or doubled.

  --minutes N     how long there is load, and something fails (60)
  --seed N        of the order of faults (another one each time)
  --every N       seconds between two faults (10)
  --cases N       issues that are carried at once (6)
  --stale-standby the standby also takes over without the last transactions, which may be lost then
  --help

  The database has a synchronous standby, so that a fail-over loses nothing. With --stale-standby it is cut off some seconds before
  some of them: what was acknowledged within them may be gone then, and everything else must be there.
`;
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    every: { type: 'string', default: '10' },
    cases: { type: 'string', default: '6' },
    'stale-standby': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(help);
  process.exit(0);
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const folder = mkdtempSync(join(tmpdir(), 'core-soak-'));
const started = performance.now();
const standby = values['stale-standby'] ? 'a standby that may be stale' : 'a synchronous standby';
const what = `seed ${values.seed}, ${values.minutes} minutes, ${values.cases} cases at once, a fault every ${values.every} s`;
say(`${what}, in ${folder}`);
const { problems, faults, counts } = await runTrial({
  folder,
  say,
  seed: Number(values.seed),
  loadMs: Number(values.minutes) * 60_000,
  faultEveryMs: Number(values.every) * 1000,
  cases: Number(values.cases),
  kinds: faultNames.filter((name) => values['stale-standby'] || name !== losing),
});
table('Faults', faults);
table('Load', counts);
table('Lost or doubled', new Map(Object.entries(problems).map(([what, ones]) => [what, ones.length])));
for (const [what, ones] of Object.entries(problems))
  for (const one of ones.slice(0, 20)) say(`${what}: ${one}`);
const found = Object.values(problems).reduce((sum, ones) => sum + ones.length, 0);
const made = [...faults.values()].reduce((sum, count) => sum + count, 0);
say(`${what}, ${standby}: ${made} faults, ${found} lost or doubled`);
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

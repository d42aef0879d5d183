import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { recordHistory } from '../fixtures/history/record.ts';
import { randomNumbers } from '../fixtures/random-numbers.ts';
import { until } from '../fixtures/until.ts';
import { check } from './check.ts';
import { Client } from './client.ts';
import { breakThings, type FaultName } from './faults.ts';
import { Host, ports } from './host.ts';
import { installOn } from './installation.ts';
import { Journal } from './journal.ts';
import { carryCases, endPutBack } from './load.ts';
import { Losses } from './losses.ts';
import { remember } from './memories.ts';
import { makeNetwork } from './network.ts';
import { Operator } from './operator.ts';
import type { Problems } from './problems.ts';
import { spend, spendTheDay } from './spending.ts';
import { bucket, startSurroundings } from './surroundings.ts';
import { countTicks, endTicks } from './ticks.ts';

export interface TrialOptions {
  readonly folder: string;
  readonly seed: number;
  readonly loadMs: number;
  readonly faultEveryMs: number;
  readonly kinds: readonly FaultName[];
  /** Cases that are carried at once. */
  readonly cases: number;
  readonly say: (text: string) => void;
}

export interface TrialResult {
  readonly problems: Problems;
  readonly faults: ReadonlyMap<FaultName, number>;
  readonly counts: ReadonlyMap<string, number>;
}

/** How wrong the clocks of the hosts are. */
const skewsMs = { a: 0, b: 300_000, c: -300_000 };
/** US dollars; no trial spends it. */
const unlimited = 1_000;
/** For what is under way when the faults end. */
const patienceMs = 300_000;

/** Three hosts do the whole work under load while one thing after another fails; then everything is counted. */
export async function runTrial(options: TrialOptions): Promise<TrialResult> {
  const { folder, seed, loadMs, faultEveryMs, kinds, cases, say } = options;
  const random = randomNumbers(seed);
  const names = Object.keys(skewsMs) as (keyof typeof skewsMs)[];
  const history = join(folder, 'history.jsonl');
  mkdirSync(folder, { recursive: true });
  writeFileSync(history, '');
  const network = makeNetwork([...names, bucket]);
  const around = await startSurroundings(folder, network);
  const diskMib = 256 + Math.round((12 * loadMs) / 60_000);
  const contexts = names.map((name) => `http://${network.addressOf(name)}:${ports.context}`);
  const hosts = names.map(
    (name) => new Host({ name, network, folder, diskMib, history, contexts, skewMs: skewsMs[name] }),
  );
  const giveUp = new AbortController();
  let isClean = false;
  try {
    const token = installOn(hosts, around);
    for (const host of hosts) host.boot();
    await Promise.all(hosts.map((host) => host.ready()));
    await until('a core-context that is active', async () =>
      (await Promise.all(hosts.map((host) => host.answers('context')))).includes(true),
    );
    const since = Date.now();
    say('three hosts are up');
    const ending = AbortSignal.timeout(loadMs);
    const journal = new Journal(folder);
    const client = new Client(hosts, token, random, giveUp.signal);
    const losses = new Losses();
    const endRecording = recordHistory(history);
    const operator = new Operator({ hosts, around, client, journal });
    const parts = { client, around, journal, losses, operator, ending, hosts, random };
    const notOver: string[] = [];
    const ends = async (what: string, ending: Promise<unknown>) => {
      await ending.catch((error) => void notOver.push(`${what}: ${error}`));
    };
    const work = Promise.all([
      ...Array.from({ length: cases }, () => ends('cases', carryCases(parts))),
      ends('spending', spend(parts)),
      ends('memories', remember(parts)),
    ]);
    const telling = setInterval(() => say(progress(journal, around.upstream.bills.length)), 60_000);
    const { counts: faults, failures } = await breakThings({
      ...{ network, hosts, around, losses, operator, random },
      ...{ kinds, everyMs: faultEveryMs, ending, say },
    });
    say('nothing fails any more');
    const late = setTimeout(() => {
      notOver.push(...journal.underWay);
      giveUp.abort(new Error(`not over ${patienceMs / 1000} s after the last fault`));
    }, patienceMs);
    await work;
    await ends('ticks', endTicks(parts));
    await ends('runs that were put back', endPutBack(parts));
    clearTimeout(late);
    clearInterval(telling);
    await operator.close();
    endRecording();
    for (const host of hosts) await ends(`host ${host.name}`, host.ready());
    for (const one of notOver) say(`not over: ${one}`);
    const counting = new Client(hosts, token, random, AbortSignal.timeout(2 * patienceMs));
    let day = unlimited;
    await ends(
      'spending of the day',
      spendTheDay({ ...parts, client: counting }).then((budget) => {
        day = budget;
      }),
    );
    // An answer that was on its way when the network was cut may still come, and its call is on record once it has.
    await ends(
      'model calls',
      until('the end of all model calls', async () => {
        const calls = "SELECT 1 FROM gateway_calls WHERE state = 'under_way'";
        return (await around.pair.ask(around.database, calls)).length === 0;
      }),
    );
    say('counting');
    const found = await check({ ...parts, client: counting, history, day, since });
    const problems = {
      ...found,
      'work that was not over': notOver,
      'faults that could not be made': failures,
    };
    writeFileSync(join(folder, 'problems.json'), JSON.stringify(problems, null, 2));
    const { ticks, belated } = await countTicks(around);
    journal.counts.set('ticks of the schedule', ticks).set('of them later than a minute', belated);
    isClean = Object.values(problems).every((ones) => ones.length === 0);
    return { problems, faults, counts: journal.counts };
  } finally {
    for (const host of hosts) {
      await host.kill();
      if (!isClean) host.keep();
    }
    await around.close();
    for (const host of hosts) host.close();
    network.close();
  }
}

function progress({ counts, approvals, events, memories, stuck }: Journal, calls: number): string {
  const count = (what: string) => counts.get(what) ?? 0;
  return [
    `${count('completed')} of ${count('cases')} cases completed, ${stuck.size} stuck`,
    `${memories.size} memories acknowledged`,
    `${approvals.length} approvals and ${events.size} events acknowledged, ${calls} model calls`,
  ].join('; ');
}

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Services } from '../../services/agentd/cli/services.ts';
import { openServices } from '../../services/agentd/main.ts';
import { type Note, problemsOf, type Recorded } from '../fixtures/history/history.ts';
import { differences, fingerprint } from '../fixtures/world/fingerprint.ts';
import type { Client } from './client.ts';
import type { Host } from './host.ts';
import { planningBudget } from './installation.ts';
import type { Journal } from './journal.ts';
import type { Losses } from './losses.ts';
import { memoryProblems } from './memories.ts';
import { objectProblems } from './objects.ts';
import type { Operator } from './operator.ts';
import type { Problems } from './problems.ts';
import type { Surroundings } from './surroundings.ts';
import { tickProblems } from './ticks.ts';
import type { Bill } from './upstream.ts';

interface CheckParts {
  readonly hosts: readonly Host[];
  readonly around: Surroundings;
  readonly journal: Journal;
  readonly client: Client;
  readonly losses: Losses;
  readonly operator: Operator;
  readonly history: string;
  /** The day's budget, US dollars. */
  readonly day: number;
  /** When all hosts were up; milliseconds since 1970. */
  readonly since: number;
}

/** Nanoseconds from the reservation of a call until it reaches the provider; far more than that takes. */
const callNs = 2e9;
/** Tolerance of sums of US dollars. */
const tiny = 1e-9;
/** In which a run may be when all is over. */
const ended = ['completed', 'failed', 'superseded', 'cancelled'];

export async function check(parts: CheckParts): Promise<Problems> {
  const { around, journal, client, hosts, losses, since } = parts;
  const counted: Record<string, readonly string[]> = {
    'cases that did not complete': [...journal.stuck].map(([number, why]) => `#${number}: ${why}`),
    'requests that the forge does not know': around.forge.state.violations,
  };
  const uncounted: string[] = [];
  const counts = {
    'the forge': async () => doubledAtForge(parts),
    'approvals and events': () => lost(parts),
    money: () => moneyProblems(parts),
    'the record': () => recordProblems(parts),
    memories: () => memoryProblems(client, hosts, journal, losses),
    ticks: () => tickProblems(around, since),
    objects: () => objectProblems(around),
  };
  for (const [what, count] of Object.entries(counts)) {
    try {
      Object.assign(counted, await count());
    } catch (error) {
      uncounted.push(`${what}: ${error}`);
    }
  }
  return { ...counted, 'what could not be counted': uncounted };
}

function doubledAtForge({ around: { served }, journal }: CheckParts): Problems {
  const branches = readdirSync(join(served.bare, 'logs/refs/heads'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(served.bare, 'logs/refs/heads/').length))
    .filter((name) => name !== 'main');
  const numberOf = (branch: string) => Number(/^core\/(\d+)-/.exec(branch)?.[1]);
  const pushes = (branch: string) =>
    readFileSync(join(served.bare, 'logs/refs/heads', branch), 'utf8')
      .trim()
      .split('\n').length;
  const more = <T>(what: readonly T[], by: (one: T) => number) =>
    [...Map.groupBy(what, by)]
      .filter(([number, ones]) => ones.length > allowed(number))
      .map(([number, ones]) => `#${number}: ${ones.length}`);
  // A case whose run failed half-way has a second run with a branch of its own.
  const allowed = (number: number) => Math.max(1, journal.runs.get(number)?.size ?? 0);
  const done = [...journal.completed.keys()];
  return {
    'doubled branches': more(branches, numberOf),
    'doubled pushes': branches.filter((name) => pushes(name) > 1),
    'doubled pull requests': [
      ...more(served.pulls, ({ head }) => numberOf(head)),
      ...[...Map.groupBy(served.pulls, ({ head }) => head)].flatMap(([head, ones]) =>
        ones.length > 1 ? [head] : [],
      ),
    ],
    'doubled comments': more(served.comments, ({ issue }) => issue),
    'effects that are missing': done.flatMap((number) => [
      ...(branches.some((name) => numberOf(name) === number) ? [] : [`#${number}: branch`]),
      ...(served.pulls.some(({ head }) => numberOf(head) === number) ? [] : [`#${number}: pull request`]),
      ...(served.comments.some(({ issue }) => issue === number) ? [] : [`#${number}: comment`]),
    ]),
  };
}

async function lost({ client, journal, around, losses, operator }: CheckParts): Promise<Problems> {
  const approvals: string[] = [];
  for (const [run_id, ones] of Map.groupBy(journal.approvals, (one) => one.run_id)) {
    const { json } = await client.anywhere('agentd', `/v1/runs/${run_id}`);
    for (const { action_id, span } of ones) {
      // biome-ignore lint/suspicious/noExplicitAny: as the service answers it
      const action = json.actions?.find((one: any) => one.action_id === action_id);
      if (action?.decision?.decision === 'approve') continue;
      // A run that goes on without what was lost is decided again.
      if (losses.mayInclude(span) || operator.recovered.has(run_id)) journal.lost('approvals', action_id);
      else approvals.push(`${run_id} ${action_id}`);
    }
  }
  const events: string[] = [];
  for (const [event_id, { number, span }] of journal.events) {
    const { status, json } = await client.anywhere('bridge', `/v1/events/${event_id}`);
    if (status === 404 && losses.mayInclude(span)) journal.lost('events', event_id);
    else if (status !== 200 || json.state !== 'done') events.push(`${event_id}: ${status} ${json?.state}`);
    else if (!journal.runs.get(number)?.has(json.run_id)) events.push(`${event_id}: another run`);
  }
  const made = await around.pair.ask<{ key: string | null; run_id: string }>(
    around.database,
    `SELECT line::json->'data'->'request'->>'idempotency_key' AS key, run_id FROM run_events WHERE seq = 1`,
  );
  // What was asked for again while the run of it was gone, has two when that one is put back.
  const first = made.filter(({ run_id }) => !operator.wholes.has(run_id));
  const twice = [...Map.groupBy(first, ({ key }) => key)].filter(
    ([key, ones]) => key === null || ones.length > 1,
  );
  return {
    'lost approvals': approvals,
    'lost events': events,
    'events and requests with two runs': twice.map(([key, ones]) => `${key}: ${ones.length}`),
    'events of mirrors that nobody accounts for': await unaccounted(around, operator),
  };
}

/** What a mirror had and the database lacked is there again, or kept with the record of its loss. */
async function unaccounted({ pair, database }: Surroundings, { held }: Operator): Promise<string[]> {
  const ones: string[] = [];
  for (const { host, run_id, hash } of held) {
    const [found] = await pair.ask(
      database,
      `SELECT 1 FROM run_events WHERE run_id = '${run_id}' AND (hash = '${hash}' OR
         line::json->>'type' = 'record_recovered' AND line::json->'data'->'lost'->>'hash' = '${hash}')
       UNION ALL SELECT 1 FROM run_artifacts WHERE run_id = '${run_id}' AND position('${hash}'::bytea IN content) > 0`,
    );
    if (found === undefined) ones.push(`${run_id} on ${host}: ${hash}`);
  }
  return ones;
}

async function moneyProblems({ client, journal, around, losses, day }: CheckParts): Promise<Problems> {
  const { json } = await client.anywhere('models', '/v1/usage?by=run');
  const ledger = new Map<string, number>(
    // biome-ignore lint/suspicious/noExplicitAny: as the service answers it
    json.rows.map(({ name, cost }: any) => [name, cost]),
  );
  const { bills } = around.upstream;
  const sum = (ones: readonly Bill[]) => ones.reduce((total, { cost }) => total + cost, 0);
  // The ledger may have lost what it knew of the others.
  const certain = bills.filter(({ at }) => !losses.mayInclude({ from: at - callNs, to: at }));
  journal.counts.set('model calls', bills.length);
  if (certain.length < bills.length)
    journal.counts.set('model calls that a fail-over may have lost', bills.length - certain.length);
  const over: string[] = [];
  const unbooked: string[] = [];
  for (const [run, cost] of ledger) {
    const budget = journal.budgets.get(run) ?? (run.startsWith('run_') ? planningBudget : day);
    if (cost > budget + tiny) over.push(`${run}: ${cost} of ${budget} in the ledger`);
  }
  for (const [run, budget] of journal.budgets) {
    const paid = sum(certain.filter(({ purpose }) => purpose === `(spend ${run})`));
    if (paid > budget + tiny) over.push(`${run}: ${paid} of ${budget} billed`);
    if (paid > (ledger.get(run) ?? 0) + tiny) unbooked.push(`${run}: ${paid} billed`);
  }
  const paid = sum(certain);
  const booked = json.total.cost as number;
  if (paid > day + tiny) over.push(`the day: ${paid} of ${day} billed`);
  if (booked > day + tiny) over.push(`the day: ${booked} of ${day} in the ledger`);
  if (paid > booked + tiny) unbooked.push(`all: ${paid} billed, ${booked} in the ledger`);
  return { 'money over budget': over, 'money that the ledger lacks': unbooked };
}

async function recordProblems(parts: CheckParts): Promise<Problems> {
  const { hosts, around, history, journal, losses, operator } = parts;
  const notes = readFileSync(history, 'utf8')
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Note]));
  const record = await around.pair.ask<Recorded>(
    around.database,
    'SELECT run_id, seq::int, prev, hash FROM run_events',
  );
  const there = new Set(record.map(({ hash }) => hash));
  for (const note of notes)
    if (note.type === 'append_acknowledged' && note.hash !== null && !there.has(note.hash))
      journal.lost('appends to runs', note.hash);
  const services = await Promise.all(hosts.map(({ home }) => openServices({ home })));
  const runs = [...new Set(record.map(({ run_id }) => run_id))];
  const neverEnded: string[] = [];
  const unverified: string[] = [];
  const unlike: string[] = [];
  try {
    for (const run_id of runs) {
      const { status } = await services[0]!.agent.run(run_id);
      // Its steps were done again, and found what was there already.
      const isLeft = status === 'partially_completed' && losses.spans.length > 0;
      if (isLeft) journal.lost('runs that a person has to look at', run_id);
      else if (!ended.includes(status)) neverEnded.push(`${run_id}: ${status}`);
      for (const [index, { agent }] of services.entries()) {
        await agent.mirror(run_id);
        const { problems: all } = await agent.verify(run_id);
        // Whoever lets a run go on without what was lost is named for good.
        const problems = all.filter(
          ({ where }) => !(operator.recovered.has(run_id) && where.endsWith('(record_recovered)')),
        );
        unverified.push(
          ...problems.map((one) => `${run_id} on ${hosts[index]!.name}: ${JSON.stringify(one)}`),
        );
      }
      const [first, ...others] = hosts.map(({ home }) => fingerprint(join(home, 'state/runs', run_id)));
      for (const other of others)
        unlike.push(...differences(first!, other).map((what) => `${run_id} ${what}`));
    }
  } finally {
    await Promise.all(services.map((one: Services) => one.close()));
  }
  return {
    'runs that did not end': neverEnded,
    'problems of the history': problemsOf(notes, record, losses.spans),
    'problems that verify finds': unverified,
    'mirrors that differ': unlike,
  };
}

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
import { memoryProblems } from './memories.ts';
import { objectProblems } from './objects.ts';
import type { Problems } from './problems.ts';
import type { Surroundings } from './surroundings.ts';
import { tickProblems } from './ticks.ts';

interface CheckParts {
  readonly hosts: readonly Host[];
  readonly around: Surroundings;
  readonly journal: Journal;
  readonly client: Client;
  readonly history: string;
  /** The day's budget, US dollars. */
  readonly day: number;
  /** When all hosts were up; milliseconds since 1970. */
  readonly since: number;
}

/** Tolerance of sums of US dollars. */
const tiny = 1e-9;
/** In which a run may be when all is over. */
const ended = ['completed', 'failed', 'superseded', 'cancelled'];

export async function check(parts: CheckParts): Promise<Problems> {
  const { around, journal, client, hosts, since } = parts;
  return {
    ...doubledAtForge(parts),
    ...(await lost(parts)),
    ...(await moneyProblems(parts)),
    'cases that did not complete': [...journal.stuck].map(([number, why]) => `#${number}: ${why}`),
    ...(await recordProblems(parts)),
    ...(await memoryProblems(client, hosts, journal)),
    ...(await tickProblems(around, since)),
    ...(await objectProblems(around)),
    'requests that the forge does not know': around.forge.state.violations,
  };
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
    'doubled pull requests': more(served.pulls, ({ head }) => numberOf(head)),
    'doubled comments': more(served.comments, ({ issue }) => issue),
    'effects that are missing': done.flatMap((number) => [
      ...(branches.some((name) => numberOf(name) === number) ? [] : [`#${number}: branch`]),
      ...(served.pulls.some(({ head }) => numberOf(head) === number) ? [] : [`#${number}: pull request`]),
      ...(served.comments.some(({ issue }) => issue === number) ? [] : [`#${number}: comment`]),
    ]),
  };
}

async function lost({ client, journal, around }: CheckParts): Promise<Problems> {
  const approvals: string[] = [];
  for (const [run_id, ones] of Map.groupBy(journal.approvals, (one) => one.run_id)) {
    const { json } = await client.anywhere('agentd', `/v1/runs/${run_id}`);
    for (const { action_id } of ones) {
      // biome-ignore lint/suspicious/noExplicitAny: as the service answers it
      const action = json.actions.find((one: any) => one.action_id === action_id);
      if (action?.decision?.decision !== 'approve') approvals.push(`${run_id} ${action_id}`);
    }
  }
  const events: string[] = [];
  for (const [event_id, number] of journal.events) {
    const { status, json } = await client.anywhere('bridge', `/v1/events/${event_id}`);
    if (status !== 200 || json.state !== 'done') events.push(`${event_id}: ${status} ${json?.state}`);
    else if (!journal.runs.get(number)?.has(json.run_id)) events.push(`${event_id}: another run`);
  }
  const keys = await around.pair.ask<{ key: string; count: number }>(
    around.database,
    `SELECT key, count(*)::int
     FROM (SELECT line::json->'data'->'request'->>'idempotency_key' AS key FROM run_events WHERE seq = 1) AS made
     GROUP BY key HAVING count(*) > 1 OR key IS NULL`,
  );
  return {
    'lost approvals': approvals,
    'lost events': events,
    'events and requests with two runs': keys.map(({ key, count }) => `${key}: ${count}`),
  };
}

async function moneyProblems({ client, journal, around, day }: CheckParts): Promise<Problems> {
  const { json } = await client.anywhere('models', '/v1/usage?by=run');
  const ledger = new Map<string, number>(
    // biome-ignore lint/suspicious/noExplicitAny: as the service answers it
    json.rows.map(({ name, cost }: any) => [name, cost]),
  );
  const { billed } = around.upstream;
  const over: string[] = [];
  const unbooked: string[] = [];
  for (const [run, cost] of ledger) {
    const budget = journal.budgets.get(run) ?? (run.startsWith('run_') ? planningBudget : day);
    if (cost > budget + tiny) over.push(`${run}: ${cost} of ${budget} in the ledger`);
  }
  for (const [run, budget] of journal.budgets) {
    const paid = billed.get(`(spend ${run})`) ?? 0;
    if (paid > budget + tiny) over.push(`${run}: ${paid} of ${budget} billed`);
    if (paid > (ledger.get(run) ?? 0) + tiny) unbooked.push(`${run}: ${paid} billed`);
  }
  const paid = [...billed.values()].reduce((sum, cost) => sum + cost, 0);
  const booked = json.total.cost as number;
  if (paid > day + tiny) over.push(`the day: ${paid} of ${day} billed`);
  if (booked > day + tiny) over.push(`the day: ${booked} of ${day} in the ledger`);
  if (paid > booked + tiny) unbooked.push(`all: ${paid} billed, ${booked} in the ledger`);
  return { 'money over budget': over, 'money that the ledger lacks': unbooked };
}

async function recordProblems({ hosts, around, history }: CheckParts): Promise<Problems> {
  const notes = readFileSync(history, 'utf8')
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Note]));
  const record = await around.pair.ask<Recorded>(
    around.database,
    'SELECT run_id, seq, prev, hash FROM run_events',
  );
  const services = await Promise.all(hosts.map(({ home }) => openServices({ home })));
  const runs = [...new Set(record.map(({ run_id }) => run_id))];
  const neverEnded: string[] = [];
  const unverified: string[] = [];
  const unlike: string[] = [];
  try {
    for (const run_id of runs) {
      const { status } = await services[0]!.agent.run(run_id);
      if (!ended.includes(status)) neverEnded.push(`${run_id}: ${status}`);
      for (const [index, { agent }] of services.entries()) {
        await agent.mirror(run_id);
        const { problems } = await agent.verify(run_id);
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
    'problems of the history': problemsOf(notes, record),
    'problems that verify finds': unverified,
    'mirrors that differ': unlike,
  };
}

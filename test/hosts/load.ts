import { setTimeout as pause } from 'node:timers/promises';
import { sharedClock } from '../fixtures/history/history.ts';
import { ref } from '../fixtures/world/world.ts';
import type { Client, Reply } from './client.ts';
import { checkoutName } from './installation.ts';
import type { Journal } from './journal.ts';
import type { Losses } from './losses.ts';
import type { Operator } from './operator.ts';
import type { Surroundings } from './surroundings.ts';

export interface LoadParts {
  readonly client: Client;
  readonly around: Surroundings;
  readonly journal: Journal;
  readonly losses: Losses;
  readonly operator: Operator;
  /** New cases begin until then. */
  readonly ending: AbortSignal;
}

const pollMs = 500;
/** Plans of a case, and executions of a run, after which it counts as stuck. */
const maxTries = 12;
/** Milliseconds until an issue is planned again. */
const againMs = 3_000;

/** Runs that nobody waits for any more. */
const endedAtOnce = 6;

let lastCase = 0;

/** One case after another, from a new issue to its completed run, until the load ends. */
export async function carryCases(parts: LoadParts): Promise<void> {
  while (!parts.ending.aborted) {
    const { number } = parts.around.forge.state.addIssue(parts.around.served, newIssue());
    parts.journal.count('cases');
    await carry(parts, number).catch((error) => {
      parts.journal.stuck.set(number, String(error));
      parts.journal.note('stuck', { number, why: String(error) });
    });
    parts.journal.does(`#${number}`, null);
    await pause(200);
  }
}

function newIssue() {
  const title = `Greeting is wrong when the name is empty (case ${++lastCase})`;
  return { title, body: 'It should greet strangers.', author: 'mira' };
}

async function carry(parts: LoadParts, number: number): Promise<void> {
  const { journal } = parts;
  for (let nth = 1; nth <= maxTries; nth++) {
    const run_id =
      nth === 1 && number % 2 === 0 ? await byEvent(parts, number) : await byRequest(parts, number, nth);
    const status = await follow(parts, number, run_id);
    if (status === 'completed') {
      journal.completed.set(number, run_id);
      journal.note('completed', { number, run_id });
      return journal.count('completed');
    }
    journal.count(`plans that ended ${status}`);
    await pause(againMs);
  }
  throw new Error(`none of ${maxTries} plans was completed`);
}

async function byRequest(parts: LoadParts, number: number, nth: number): Promise<string> {
  const { journal } = parts;
  journal.does(`#${number}`, `asking for plan ${nth}`);
  const { status, json } = await change(parts, '/v1/runs', {
    body: { ...ref, number },
    headers: { 'idempotency-key': `case-${number}-${nth}` },
  });
  if (status !== 202) throw new Error(`a plan was refused: ${status} ${JSON.stringify(json)}`);
  journal.isRunOf(number, json.run_id);
  return json.run_id;
}

async function byEvent(parts: LoadParts, number: number): Promise<string> {
  const { client, journal } = parts;
  const event_id = `board-${number}`;
  const issue = {
    ...{ id: `T-${number}`, title: 'Greeting is wrong', status: 'ready' },
    forge: { name: 'git', ...ref, number },
  };
  const kind = 'issue.status_changed';
  const body = { event_id, kind, occurred_at: '2026-11-22T07:00:00Z', issue, actor: 'mira' };
  async function deliver(): Promise<void> {
    const from = sharedClock();
    journal.does(`#${number}`, 'delivering its event');
    const sent = await client.anywhere('bridge', '/v1/ingress/dashboard-issue', { method: 'POST', body });
    if (sent.status !== 202) throw new Error(`an event was refused: ${JSON.stringify(sent)}`);
    journal.events.set(event_id, { number, span: { from, to: sharedClock() } });
    journal.note('event', { event_id, host: sent.host });
  }
  await deliver();
  for (;;) {
    const { status, json } = await client.anywhere('bridge', `/v1/events/${event_id}`);
    if (status === 404 && parts.losses.mayInclude(journal.events.get(event_id)!.span)) {
      journal.lost('events, delivered again', event_id);
      await deliver();
      continue;
    }
    journal.does(
      `#${number}`,
      `waiting for its event, which is ${json.state} (${json.reason?.code ?? 'no reason'})`,
    );
    if (json.state === 'done' && json.run_id !== null) {
      journal.isRunOf(number, json.run_id);
      return json.run_id;
    }
    if (json.state === 'skipped') throw new Error(`the event was skipped: ${JSON.stringify(json.reason)}`);
    if (json.state === 'dead') await retryEvent(parts, event_id, json.reason);
    await pause(pollMs);
  }
}

export async function retryEvent(
  { client, journal, operator }: LoadParts,
  event_id: string,
  reason: { readonly code: string; readonly message: string },
): Promise<void> {
  journal.count('events that died and were tried again');
  journal.note('dead', { event_id, reason });
  if (reason.code === 'database_behind') await operator.read(reason.message);
  await client.anywhere('bridge', `/v1/events/${encodeURIComponent(event_id)}/retry`, {
    method: 'POST',
    body: {},
  });
}

async function endEvent(parts: LoadParts, event_id: string, number: number): Promise<void> {
  const { client, journal } = parts;
  for (; ; await pause(pollMs)) {
    const { status, json } = await client.anywhere('bridge', `/v1/events/${event_id}`);
    if (status === 404) return;
    journal.does(event_id, `${json.state} (${json.reason?.code})`);
    if (json.state === 'dead') await retryEvent(parts, event_id, json.reason);
    if (json.state !== 'done') continue;
    journal.isRunOf(number, json.run_id);
    return journal.does(event_id, null);
  }
}

/** Does what a person would until the run has ended. @returns how; `lost` where a fail-over lost it, and no mirror has it */
export async function follow(parts: LoadParts, number: number, run_id: string): Promise<string> {
  const { client, journal, losses, operator } = parts;
  const path = `/v1/runs/${run_id}`;
  let tries = 0;
  for (let seen = ''; ; await pause(pollMs)) {
    const reply = await client.anywhere('agentd', path);
    if (reply.status !== 200 && losses.spans.length > 0) {
      if (await operator.putBack(run_id)) continue;
      journal.lost('runs', run_id);
      return 'lost';
    }
    const { json: run } = reply;
    journal.does(labelOf(number, run_id), `following ${run_id}, which is ${run.status},`);
    if (run.status !== seen) journal.note('status', { number, run_id, status: run.status });
    seen = run.status;
    switch (run.status) {
      case 'completed':
        if (wasGivenMemories(run)) journal.count('completed plans that were given memories');
        return run.status;
      case 'cancelled':
      case 'rejected':
      case 'superseded':
      case 'undone':
        return run.status;
      case 'planning':
      case 'executing':
        break;
      case 'interrupted':
        await ask(parts, 'resumed', `${path}/resume`, {});
        break;
      case 'awaiting_approval':
        await approveAll(parts, run);
        await ask(parts, 'executed', `${path}/execute`, { checkout: checkoutName });
        break;
      case 'failed':
      case 'partially_completed':
        // Failed before it had actions, or in one of them, which another execution tries again.
        journal.note('failure', { number, run_id, run: failureOf(run) });
        if (run.actions.length === 0 || ++tries > maxTries) return run.status;
        journal.count('executions that failed and were tried again');
        await ask(parts, 'executed', `${path}/execute`, { checkout: checkoutName });
        break;
      default:
        throw new Error(`run ${run_id} has the status ${run.status}, which no step is known for`);
    }
  }
}

interface Influenced {
  readonly actions: readonly { readonly influences: readonly { readonly source: string }[] }[];
}

function wasGivenMemories({ actions }: Influenced): boolean {
  return actions.some(({ influences }) => influences.some(({ source }) => source.startsWith('memory:')));
}

/** Where transactions were lost: puts back what is still to be, and ends events and runs that nobody waits for any more. */
export async function endPutBack(parts: LoadParts): Promise<void> {
  const { around, journal, losses, operator } = parts;
  if (losses.spans.length === 0) return;
  await operator.putBackAll(Number.POSITIVE_INFINITY);
  for (const [event_id, { number }] of journal.events)
    if (!journal.stuck.has(number)) await endEvent(parts, event_id, number);
  const open = await around.pair.ask<{ run_id: string; number: number | null }>(
    around.database,
    `SELECT run_id, (line::json->'data'->'request'->>'number')::int AS number FROM runs JOIN run_events USING (run_id)
     WHERE run_events.seq = 1 AND status NOT IN ('completed', 'cancelled', 'superseded')`,
  );
  const left = open.values();
  async function endOneAfterAnother(): Promise<void> {
    for (const { run_id, number } of left) {
      const of = number ?? Number.NaN;
      if (journal.stuck.has(of)) continue;
      journal.isRunOf(of, run_id);
      journal.count(`runs that nobody waited for: ${await follow(parts, of, run_id)}`);
      journal.does(labelOf(of, run_id), null);
    }
  }
  await Promise.all(Array.from({ length: endedAtOnce }, endOneAfterAnother));
}

/** Of a case, or of a run without one. */
function labelOf(number: number, run_id: string): string {
  return Number.isNaN(number) ? run_id : `#${number}`;
}

// biome-ignore lint/suspicious/noExplicitAny: as the service answers it
function failureOf({ status, failure, actions }: any): object {
  // biome-ignore lint/suspicious/noExplicitAny: as the service answers it
  const ended = actions.map(({ kind, state, outcome }: any) => `${kind} ${state} ${outcome?.message ?? ''}`);
  return { status, failure, ended };
}

// biome-ignore lint/suspicious/noExplicitAny: as the service answers it
async function approveAll(parts: LoadParts, run: any): Promise<void> {
  const { journal } = parts;
  const { run_id } = run;
  for (const { action_id, digest, approval } of run.actions) {
    if (approval !== 'required') continue;
    const from = sharedClock();
    const reply = await change(parts, `/v1/runs/${run_id}/actions/${action_id}/approval`, {
      body: { decision: 'approve', digest },
    });
    if (reply.status !== 200) {
      journal.note('approval refused', { run_id, action_id, ...reply });
      continue;
    }
    journal.approvals.push({ run_id, action_id, span: { from, to: sharedClock() } });
    journal.note('approval', { run_id, action_id, host: reply.host });
  }
}

/** What others did meanwhile shows when the run is looked at next. */
async function ask(parts: LoadParts, what: string, path: string, body: object): Promise<void> {
  const { journal } = parts;
  const reply = await change(parts, path, { body });
  journal.count(what);
  if (reply.status !== 202) journal.note(`not ${what}`, { path, ...reply });
}

/** Once more where the database was behind, and the operator has put back what it lacked. */
async function change(
  { client, losses, operator }: LoadParts,
  path: string,
  asking: { readonly body: object; readonly headers?: Readonly<Record<string, string>> },
): Promise<Reply> {
  const reply = await client.anywhere('agentd', path, { method: 'POST', ...asking });
  const { code, detail } = reply.json ?? {};
  if (code === 'database_behind') await operator.read(detail);
  else if (code === 'artifact_differs' && losses.spans.length > 0) await operator.putBackArtifacts(detail);
  else return reply;
  return client.anywhere('agentd', path, { method: 'POST', ...asking });
}

import { setTimeout as pause } from 'node:timers/promises';
import { ref } from '../fixtures/world/world.ts';
import type { Client, Reply } from './client.ts';
import { checkoutName } from './installation.ts';
import type { Journal } from './journal.ts';
import type { Surroundings } from './surroundings.ts';

export interface LoadParts {
  readonly client: Client;
  readonly around: Surroundings;
  readonly journal: Journal;
  /** New cases begin until then. */
  readonly ending: AbortSignal;
}

const pollMs = 500;
/** Plans of a case, and executions of a run, after which it counts as stuck. */
const maxTries = 12;

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
  }
  throw new Error(`none of ${maxTries} plans was completed`);
}

async function byRequest({ client, journal }: LoadParts, number: number, nth: number): Promise<string> {
  const { status, json } = await client.anywhere('agentd', '/v1/runs', {
    method: 'POST',
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
  const sent = await client.anywhere('bridge', '/v1/ingress/dashboard-issue', { method: 'POST', body });
  if (sent.status !== 202) throw new Error(`an event was refused: ${JSON.stringify(sent)}`);
  journal.events.set(event_id, number);
  journal.note('event', { event_id, host: sent.host });
  for (;;) {
    const { json } = await client.anywhere('bridge', `/v1/events/${event_id}`);
    if (json.state === 'done' && json.run_id !== null) {
      journal.isRunOf(number, json.run_id);
      return json.run_id;
    }
    if (json.state === 'skipped') throw new Error(`the event was skipped: ${JSON.stringify(json.reason)}`);
    if (json.state === 'dead') {
      journal.count('events that died and were tried again');
      journal.note('dead', { event_id, reason: json.reason });
      await client.anywhere('bridge', `/v1/events/${event_id}/retry`, { method: 'POST', body: {} });
    }
    await pause(pollMs);
  }
}

/** Does what a person would until the run has ended. @returns how */
export async function follow(parts: LoadParts, number: number, run_id: string): Promise<string> {
  const { client, journal } = parts;
  const path = `/v1/runs/${run_id}`;
  let tries = 0;
  for (let seen = ''; ; await pause(pollMs)) {
    const { json: run } = await client.anywhere('agentd', path);
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

// biome-ignore lint/suspicious/noExplicitAny: as the service answers it
function failureOf({ status, failure, actions }: any): object {
  // biome-ignore lint/suspicious/noExplicitAny: as the service answers it
  const ended = actions.map(({ kind, state, outcome }: any) => `${kind} ${state} ${outcome?.message ?? ''}`);
  return { status, failure, ended };
}

// biome-ignore lint/suspicious/noExplicitAny: as the service answers it
async function approveAll({ client, journal }: LoadParts, run: any): Promise<void> {
  const { run_id } = run;
  for (const { action_id, digest, approval } of run.actions) {
    if (approval !== 'required') continue;
    const reply = await client.anywhere('agentd', `/v1/runs/${run_id}/actions/${action_id}/approval`, {
      method: 'POST',
      body: { decision: 'approve', digest },
    });
    if (reply.status !== 200) {
      journal.note('approval refused', { run_id, action_id, ...reply });
      continue;
    }
    journal.approvals.push({ run_id, action_id });
    journal.note('approval', { run_id, action_id, host: reply.host });
  }
}

/** What others did meanwhile shows when the run is looked at next. */
async function ask({ client, journal }: LoadParts, what: string, path: string, body: object): Promise<Reply> {
  const reply = await client.anywhere('agentd', path, { method: 'POST', body });
  journal.count(what);
  if (reply.status !== 202) journal.note(`not ${what}`, { path, ...reply });
  return reply;
}

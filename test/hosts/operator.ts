import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { codeOf } from '#kit/errors.ts';
import type { Services } from '../../services/agentd/cli/services.ts';
import { openServices } from '../../services/agentd/main.ts';
import { logName } from '../../services/agentd/runs/log/run-folder.ts';
import { mirroredEvents } from '../../services/agentd/runs/mirror/run-folder-log.ts';
import type { Client } from './client.ts';
import type { Host } from './host.ts';
import type { Journal } from './journal.ts';
import type { Surroundings } from './surroundings.ts';

/** The newest event of a host's mirror, which the database does not have. */
export interface Held {
  readonly host: string;
  readonly run_id: string;
  readonly hash: string;
}

interface OperatorParts {
  readonly hosts: readonly Host[];
  readonly around: Surroundings;
  readonly client: Client;
  readonly journal: Journal;
}

/** Twice a second, for longer than the lease of a host that is gone. */
const maxTries = 120;
const runIds = /\brun_[0-9a-f-]{36}\b/g;

/** Does what the runbook says after a fail-over that lost transactions, on each host. */
export class Operator {
  readonly #parts: OperatorParts;
  readonly #services = new Map<Host, Services>();
  #last: Promise<unknown> = Promise.resolve();
  /** What mirrors had when the operator looked, and the database lacked. */
  readonly held: Held[] = [];
  /** Runs that a mirror gave back as a whole. */
  readonly wholes = new Set<string>();
  /** Runs that went on without what was lost. */
  readonly recovered = new Set<string>();

  constructor(parts: OperatorParts) {
    this.#parts = parts;
  }

  /** Puts back, on all hosts, what the database lacks of runs whose mirrors changed within these last milliseconds. */
  async putBackAll(withinMs: number): Promise<void> {
    const held = await this.#ahead(Date.now() - withinMs);
    this.held.push(...held);
    for (const run_id of new Set(held.map((one) => one.run_id))) await this.putBack(run_id);
  }

  /** Puts back the runs that an answer names, where it says that the database is behind. */
  async read(text: string): Promise<void> {
    this.#parts.journal.count('answers that the database is behind');
    for (const run_id of new Set(text.match(runIds))) await this.putBack(run_id);
  }

  /** Puts back artifacts that the database lost, where it has the events that name them. */
  async putBackArtifacts(text: string): Promise<void> {
    for (const run_id of new Set(text.match(runIds)))
      for (const host of this.#parts.hosts) {
        const { agent, person } = await this.#servicesOf(host);
        const isBack = await agent.restoreRecord({ run_id, by: await person() }).then(
          () => true,
          () => false,
        );
        if (isBack) return this.#parts.journal.count('runs whose artifacts were put back');
      }
  }

  /** @returns whether the database has the run now */
  putBack(run_id: string): Promise<boolean> {
    const work = this.#last.then(() => this.#putBack(run_id));
    this.#last = work.catch(() => {});
    return work;
  }

  async close(): Promise<void> {
    await this.#last;
    for (const services of this.#services.values()) await services.close();
  }

  async #putBack(run_id: string): Promise<boolean> {
    const { hosts, client, journal } = this.#parts;
    // A process that knows more than the database keeps it in its mirror when it is asked for a run that is gone.
    await Promise.all(hosts.map((host) => client.once(host, 'agentd', `/v1/runs/${run_id}`)));
    for (let nth = 0; nth < maxTries; nth++) {
      client.signal.throwIfAborted();
      try {
        const states = [];
        for (const host of hosts) states.push(...(await this.#stateOn(host, run_id)));
        const [longest] = states
          .filter(({ state }) => state.problem !== null)
          .toSorted((a, b) => (b.state.acknowledged?.seq ?? 0) - (a.state.acknowledged?.seq ?? 0));
        if (longest === undefined) return states.length > 0;
        const { agent, person } = longest.services;
        const { restorable, kept, problem } = longest.state;
        const by = await person();
        if (restorable) {
          await agent.restoreRecord({ run_id, by });
          if ((kept?.seq ?? 0) === 0) this.wholes.add(run_id);
          journal.count(kept === null ? 'runs put back as a whole' : 'runs put back');
        } else {
          await agent.recoverRecord({ run_id, by, reason: 'the standby did not have it' });
          this.recovered.add(run_id);
          journal.count('runs that went on without what was lost');
        }
        journal.note('put back', { run_id, restorable, problem });
      } catch (error) {
        // Somebody works on it, or the database is away again.
        journal.note('not put back', { run_id, why: `${codeOf(error)} ${error}` });
        await pause(500);
      }
    }
    throw new Error(`run ${run_id} could not be put back`);
  }

  /** Nothing where neither the host nor the database knows the run. */
  async #stateOn(host: Host, run_id: string) {
    const services = await this.#servicesOf(host);
    try {
      return [{ services, state: await services.agent.record(run_id) }];
    } catch (error) {
      if (codeOf(error) === 'run_not_found') return [];
      throw error;
    }
  }

  async #servicesOf(host: Host): Promise<Services> {
    const services = this.#services.get(host) ?? (await openServices({ home: host.home }));
    this.#services.set(host, services);
    return services;
  }

  async #ahead(since: number): Promise<Held[]> {
    const { hosts, around } = this.#parts;
    const marks = hosts.flatMap(({ name, home }) => {
      const stateDir = join(home, 'state');
      const folder = join(stateDir, 'runs');
      const names = existsSync(folder) ? readdirSync(folder).filter((one) => one.startsWith('run_')) : [];
      return names.flatMap((run_id) => {
        const last = mirroredEvents({ stateDir, runId: run_id }).at(-1);
        if (last === undefined || statSync(join(folder, run_id, logName)).mtimeMs < since) return [];
        return [{ host: name, run_id, hash: last.hash }];
      });
    });
    const there = await around.pair.ask<{ hash: string }>(
      around.database,
      `SELECT hash FROM run_events WHERE hash = ANY('{${marks.map(({ hash }) => hash).join(',')}}')`,
    );
    const known = new Set(there.map(({ hash }) => hash));
    return marks.filter(({ hash }) => !known.has(hash));
  }
}

import { crashPoint } from '#kit/crash-point.ts';
import { codeOf } from '#kit/errors.ts';
import { type Permit, PermitEnded } from '#kit/permit.ts';
import type { Checkout } from '../actions/executor.ts';
import type { ForgeWriter } from '../ports/forge-writer.ts';
import type { Lease } from '../runs/run-store.ts';
import { deliver } from './delivery.ts';
import { withdraw } from './withdrawal.ts';

export type EffectName = keyof ForgeWriter | 'push' | 'unpublish' | 'deliver' | 'withdraw';

type Held = Pick<Lease, 'lost' | 'shared' | 'permit'>;

/** Clocks of hosts that share runs may differ by so much. */
const maxSkewMs = 300_000;

/**
 * The way of everything that an execution or an undo changes outside: it leaves only while the lease of its run is surely held. A
 * process that was stopped finds that out when it goes on, and asks for the lease again before anything leaves.
 */
export class Effects {
  readonly #lease: Held;
  /** Of the last effect of this process, or from when on no other process can have had one, by `performance.now()`. */
  #last: number;

  /** @param last the time of the run's last event before the lease was taken, RFC 3339 */
  constructor(lease: Held, last: string) {
    this.#lease = lease;
    const before = Date.now() - Date.parse(last) - (lease.shared ? maxSkewMs : 0);
    this.#last = performance.now() - Math.max(0, before);
  }

  /** Aborted when another process may have the lease. */
  get lost(): AbortSignal {
    return this.#lease.lost;
  }

  /** Milliseconds, at the least, since an effect of this run last left a process. */
  quietMs(): number {
    return performance.now() - this.#last;
  }

  /** @param effect has the permit required right before it leaves @throws Conflict (`lease_lost`); nothing left then */
  async run<T>(name: EffectName, effect: (permit: Permit) => Promise<T>): Promise<T> {
    for (;;) {
      const permit = await this.#lease.permit();
      crashPoint(`effect.permitted.${name}`);
      const require = (): void => {
        permit.require();
        this.#last = performance.now();
        crashPoint(`effect.leaving.${name}`);
      };
      try {
        return await effect({ require });
      } catch (error) {
        if (!(error instanceof PermitEnded)) throw error;
      }
    }
  }
}

/**
 * True of an error after which this process may not go on with a run: its lease is lost, or where its record is does not answer. That
 * says nothing about the action; whoever resumes the run finds out what became of it.
 */
export function endsExecution(error: unknown): boolean {
  return ['lease_lost', 'database_unavailable', 'objects_unavailable'].includes(codeOf(error));
}

/** The forge, as those see it who hold the lease of a run. */
export function writerUnder(effects: Effects, writer: ForgeWriter): ForgeWriter {
  return {
    openPullRequest: (ref, request) =>
      effects.run('openPullRequest', (permit) => writer.openPullRequest(ref, request, permit)),
    closePullRequest: (ref, number) =>
      effects.run('closePullRequest', (permit) => writer.closePullRequest(ref, number, permit)),
    comment: (ref, number, body) =>
      effects.run('comment', (permit) => writer.comment(ref, number, body, permit)),
    deleteComment: (ref, number, id) =>
      effects.run('deleteComment', (permit) => writer.deleteComment(ref, number, id, permit)),
  };
}

/** The person's checkout, likewise. */
export function deliveryUnder(effects: Effects): Pick<Checkout, 'deliver' | 'withdraw'> {
  return {
    deliver: (...delivery) => effects.run('deliver', (permit) => deliver(...delivery, permit)),
    withdraw: (...delivery) => effects.run('withdraw', (permit) => withdraw(...delivery, permit)),
  };
}

import { expect } from 'chai';
import type { EventView } from '#kit/contracts/bridge/events.ts';
import { Conflict, Unavailable } from '#kit/errors.ts';
import type { HttpClient } from '#kit/http/client.ts';
import { planEvent } from './smoke.ts';

const { signal } = new AbortController();

/** A bridge that works on the event by itself, or does not. */
function bridgeWith(states: Partial<EventView>[], refusal: Error | null) {
  const asked: string[] = [];
  const state = () => (states.length > 1 ? states.shift() : states[0]);
  const client = {
    async post() {
      asked.push('process');
      if (refusal !== null) throw refusal;
      return { event: state() };
    },
    async get() {
      asked.push('look');
      return state();
    },
  };
  return { asked, client: client as unknown as HttpClient };
}

describe('The event of a smoke run', () => {
  const done = { state: 'done', run_id: 'run_1', attempts: 0, reason: null } as const;
  const processing = { ...done, state: 'processing', run_id: null } as const;

  it('is processed when it is asked for', async () => {
    const { client, asked } = bridgeWith([done], null);
    expect((await planEvent(client, 'e', signal))[0]).to.equal('run_1');
    expect(asked).to.deep.equal(['process']);
  });

  it('is waited for where the bridge processes events by itself', async () => {
    const taken = new Conflict('event_not_pending', 'event e is processing');
    const { client, asked } = bridgeWith([processing, processing, done], taken);
    expect((await planEvent(client, 'e', signal))[0]).to.equal('run_1');
    expect(asked).to.deep.equal(['process', 'look', 'look', 'look']);
  });

  it('has failed where its attempt has, or the bridge refuses for another reason', async () => {
    const reason = { code: 'TIMEOUT', message: 'no answer' };
    const failed = bridgeWith([{ state: 'pending', run_id: null, attempts: 1, reason }], null);
    const outcome = await planEvent(failed.client, 'e', signal).catch((error: Error) => error.message);
    expect(outcome).to.equal('the event is pending: no answer [TIMEOUT]');
    const away = bridgeWith([done], new Unavailable('bus_unavailable', 'away'));
    expect(await planEvent(away.client, 'e', signal).catch(({ code }) => code)).to.equal('bus_unavailable');
  });
});

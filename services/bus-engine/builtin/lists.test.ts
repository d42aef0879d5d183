import { expect } from 'chai';
import { silentLogger } from '#kit/log.ts';
import type { Binding } from '../cron/binding-store.ts';
import { Triggers } from '../triggers/triggers.ts';
import type { Connection } from '../wire/connection.ts';
import { Arguments } from './built-in.ts';
import { triggerLists } from './lists.ts';

describe('engine::register_trigger', () => {
  const caller = { token: 't', charge() {} } as unknown as Connection;
  const wanted = new Arguments({ trigger_type: 'weather', function_id: 'f' });

  function registering(put: (binding: Binding) => void) {
    const triggers = new Triggers({ builtIn: [], limit: 10, logger: silentLogger });
    const builtIns = triggerLists({ triggers, store: { put, remove() {} } });
    return { triggers, register: () => builtIns['engine::register_trigger']!.answer(wanted, caller) };
  }

  it('keeps on disk what it registers', () => {
    const kept: string[] = [];
    const { triggers, register } = registering(({ id }) => kept.push(id));
    const { id } = register() as { id: string };
    expect(kept).to.deep.equal([id]);
    expect([...triggers.all()].map((trigger) => trigger.id)).to.deep.equal([id]);
  });

  it('leaves nothing registered where the disk is full, as it says', () => {
    const { triggers, register } = registering(() => {
      throw new Error('database or disk is full');
    });
    expect(register).to.throw('database or disk is full');
    expect([...triggers.all()]).to.deep.equal([]);
  });
});

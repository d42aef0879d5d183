import { expect } from 'chai';
import type { Connection } from '../wire/connection.ts';
import { Functions, Owners } from './functions.ts';

const frame = (id: string) => ({ type: 'registerfunction', id }) as const;

describe('functions by id', () => {
  let changes: string[];
  let functions: Functions;

  beforeEach(() => {
    changes = [];
    const owners = new Owners([
      { prefix: 'core.', token: 'worker' },
      { prefix: 'core.schedules.', token: 'bridge' },
    ]);
    functions = new Functions({ owners, limit: 3, changed: (id) => changes.push(id) });
  });

  const peer = (token: string | null = 'a') => ({ token }) as Connection;

  it('are answered by the last that registered, and by the one before when it goes', () => {
    const [first, second, third] = [peer(), peer(), peer()];
    for (const one of [first, second, third]) expect(functions.register(one, frame('f'))).to.equal(null);
    expect(functions.get('f')?.peer).to.equal(third);
    functions.unregister(second, 'f');
    expect(functions.get('f')?.peer).to.equal(third);
    functions.removeAllOf(third);
    expect(functions.get('f')?.peer).to.equal(first);
    functions.removeAllOf(first);
    expect(functions.get('f')).to.equal(undefined);
    expect(functions.size).to.equal(0);
    expect(changes).to.deep.equal(['f', 'f', 'f', 'f', 'f']);
  });

  it('count for their worker once, and no more than the limit', () => {
    const one = peer();
    for (const id of ['a', 'b', 'c', 'a']) expect(functions.register(one, frame(id))).to.equal(null);
    expect(functions.countOf(one)).to.equal(3);
    expect(functions.register(one, frame('d'))?.code).to.equal('too_many_functions');
    expect(functions.unregister(one, 'a')).to.equal(true);
    expect(functions.unregister(one, 'a')).to.equal(false);
    expect(functions.register(one, frame('d'))).to.equal(null);
  });

  it('of the longest prefix belong to its token', () => {
    expect(functions.register(peer('worker'), frame('core.agent.health'))).to.equal(null);
    expect(functions.register(peer('bridge'), frame('core.schedules.tick'))).to.equal(null);
    expect(functions.register(peer('worker'), frame('core.schedules.tick'))?.code).to.equal('function_owned');
    expect(functions.register(peer(null), frame('core.x'))?.message).to.include('came without a token');
  });

  it('that a token holds no other takes over', () => {
    const holder = peer('a');
    functions.register(holder, frame('f'));
    expect(functions.register(peer('b'), frame('f'))).to.deep.include({
      code: 'function_held',
      owner: holder,
    });
    functions.removeAllOf(holder);
    expect(functions.register(peer('b'), frame('f'))).to.equal(null);
  });
});

import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { EventType } from './event-type.ts';
import type { Trigger } from './trigger.ts';

describe('a type of triggers that report events', () => {
  let reported: [id: string, data: unknown][];
  let end: (() => void)[];
  let type: EventType;

  beforeEach(() => {
    reported = [];
    end = [];
    type = new EventType('engine::things', 'Reports things', ({ id }, data) => {
      reported.push([id, data]);
      return new Promise((resolve) => end.push(resolve));
    });
  });

  function trigger(id: string, token = 'mine'): Trigger {
    return { id, type: type.id, functionId: 'f', config: {}, metadata: null, owner: null, token };
  }

  async function endAll(): Promise<void> {
    while (end.length > 0) {
      for (const one of end.splice(0)) one();
      await nextTurn();
    }
  }

  it('reports one event at a time, and the last of each subject', async () => {
    type.register(trigger('t'));
    for (const [subject, data] of [
      ['a', 1],
      ['b', 2],
      ['b', 3],
      ['c', 4],
    ] as const)
      type.emit(subject, data);
    await nextTurn();
    expect(reported).to.deep.equal([['t', 1]]);
    await endAll();
    expect(reported).to.deep.equal([
      ['t', 1],
      ['t', 3],
      ['t', 4],
    ]);
    type.emit('a', 5);
    await nextTurn();
    expect(reported.at(-1)).to.deep.equal(['t', 5]);
  });

  it('calls sixteen functions at a time for one token, and meanwhile those of others', async () => {
    for (let nth = 0; nth < 40; nth++) type.register(trigger(`t${nth}`));
    type.register(trigger('other', 'theirs'));
    type.emit('a', 1);
    await nextTurn();
    expect(reported).to.have.length(17);
    expect(reported.at(-1)).to.deep.equal(['other', 1]);
    await endAll();
    expect(new Set(reported.map(([id]) => id)).size).to.equal(41);
    expect(reported).to.have.length(41);
  });

  it('forgets the oldest of much that nobody takes, and all of a trigger that is gone', async () => {
    type.register(trigger('slow'));
    type.emit('s0', 0);
    await nextTurn();
    for (let nth = 1; nth < 1_000; nth++) type.emit(`s${nth}`, nth);
    await endAll();
    expect(reported.map(([, data]) => data)).to.deep.equal([
      0,
      ...Array.from({ length: 32 }, (_, n) => 968 + n),
    ]);
    type.emit('a', 'last');
    await nextTurn();
    type.emit('b', 'never');
    type.unregister(trigger('slow'));
    await endAll();
    expect(reported.at(-1)).to.deep.equal(['slow', 'last']);
    expect(type.wanted).to.equal(false);
  });
});

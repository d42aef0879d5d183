import { expect } from 'chai';
import { type Note, problemsOf, type Recorded } from '../fixtures/history/history.ts';

type Change = (history: { notes: Note[]; record: Recorded[] }) => void;

/** Two clients, one after the other, append two events each to a run; the second took its lease over. */
function sound(): { notes: Note[]; record: Recorded[] } {
  const notes: Note[] = [];
  let at = 0;
  const add = (note: object) => notes.push({ ...note, at: ++at } as Note);
  for (const [client, fencing, first] of [
    [1, 7, 1],
    [2, 9, 3],
  ] as const) {
    add({ client, type: 'lease_taken', name: 'run x', fencing, asked: at });
    for (const [operation, seq] of [first, first + 1].entries()) {
      add({ client, type: 'append_asked', operation, run_id: 'x', fencing });
      add({ client, type: 'append_decided', operation, run_id: 'x', after: seq - 1, count: 1 });
      add({ client, type: 'append_acknowledged', operation, hash: `h${seq}` });
    }
  }
  const record = [1, 2, 3, 4].map((seq) => ({ run_id: 'x', seq, prev: `h${seq - 1}`, hash: `h${seq}` }));
  return { notes, record };
}

const without = (type: Note['type'], which: number): Change => {
  return ({ notes }) => {
    const found = notes.filter((note) => note.type === type)[which]!;
    notes.splice(notes.indexOf(found), 1);
  };
};

const edited = (type: Note['type'], which: number, change: object): Change => {
  return ({ notes }) => void Object.assign(notes.filter((note) => note.type === type)[which]!, change);
};

const cases: Readonly<Record<string, readonly [Change, readonly string[]]>> = {
  'is one order where each append follows the one before': [() => {}, []],
  'may have an append that nobody learned the end of': [without('append_acknowledged', 3), []],
  'may lack an append that was not acknowledged': [
    (history) => {
      without('append_acknowledged', 3)(history);
      history.record.pop();
    },
    [],
  ],
  'lacks an acknowledged append': [
    ({ record }) => void record.pop(),
    ['x: events 4 to 4 were acknowledged and are not there'],
  ],
  'has another event than was acknowledged': [
    edited('append_acknowledged', 3, { hash: 'other' }),
    ['x: events 4 to 4 were acknowledged and are not there'],
  ],
  'has a gap': [
    ({ record }) => void record.splice(1, 1),
    [
      'x: event 2 is missing before event 3',
      'x: event 3 does not follow event 2',
      'x: event 3 is missing before event 4',
      'x: events 2 to 2 were acknowledged and are not there',
    ],
  ],
  'has an event of nobody': [
    ({ record }) => void record.push({ run_id: 'x', seq: 5, prev: 'h4', hash: 'h5' }),
    ['x: event 5 was appended by nobody'],
  ],
  'has an event of two': [
    edited('append_decided', 2, { after: 1, count: 2 }),
    ['x: event 2 was acknowledged twice'],
  ],
  'goes back to a lower fencing number': [
    edited('append_asked', 2, { fencing: 5 }),
    ['x: event 3 was appended under number 5, after number 7'],
  ],
  'has a later event that was acknowledged before an earlier one was asked for': [
    edited('append_asked', 1, { at: 13.5 }),
    ['x: event 3 was acknowledged before event 2 was asked for'],
  ],
  'has a lease with one number twice': [
    edited('lease_taken', 1, { fencing: 7 }),
    ['run x was taken twice with number 7'],
  ],
  'has a lease with a falling number': [
    edited('lease_taken', 1, { fencing: 6 }),
    ['run x was taken with number 7 before number 6'],
  ],
};

/** As when a standby took over that lacked what was appended and taken at these moments. */
const losing = (...moments: readonly number[]) => moments.map((at) => ({ from: at, to: at }));

describe('the history of hosts', () => {
  it('may lack an acknowledged append where the record was allowed to lose it, and no other one', () => {
    const { notes, record } = sound();
    const { at } = notes.findLast(({ type }) => type === 'append_acknowledged')!;
    record.pop();
    expect(problemsOf(notes, record, losing(at))).to.deep.equal([]);
    expect(problemsOf(notes, record, losing(at - 3, at + 1))).to.deep.equal([
      'x: events 4 to 4 were acknowledged and are not there',
    ]);
  });

  it('may have another event where an acknowledged one was lost', () => {
    const { notes, record } = sound();
    const lost = notes.filter(({ type }) => type.startsWith('append')).slice(-3);
    notes.push(...lost.map((note) => ({ ...note, client: 3, at: note.at + 10, hash: 'again' }) as Note));
    record[3] = { ...record[3]!, hash: 'again' };
    expect(problemsOf(notes, record, losing(lost.at(-1)!.at))).to.deep.equal([]);
    expect(problemsOf(notes, record)).to.include('x: event 4 was acknowledged twice');
  });

  it('may have an event twice that was lost and made again with the same hash', () => {
    const { notes, record } = sound();
    const lost = notes.filter(({ type }) => type.startsWith('append')).slice(-3);
    notes.push(...lost.map((note) => ({ ...note, client: 3, at: note.at + 10 }) as Note));
    expect(problemsOf(notes, record, losing(lost.at(-1)!.at))).to.deep.equal([]);
    expect(problemsOf(notes, record)).to.include('x: event 4 was acknowledged twice');
  });

  it('may have a number of a lease twice where the record was allowed to lose it', () => {
    const history = sound();
    cases['has a lease with one number twice']![0](history);
    const { notes, record } = history;
    const { at } = notes.filter(({ type }) => type === 'lease_taken')[1]!;
    expect(problemsOf(notes, record, losing(at))).to.deep.equal([]);
    expect(problemsOf(notes, record, losing(at + 1))).to.have.length(1);
  });

  for (const [what, [change, problems]] of Object.entries(cases)) {
    it(what, () => {
      const history = sound();
      change(history);
      expect(problemsOf(history.notes, history.record)).to.deep.equal(problems);
    });
  }
});

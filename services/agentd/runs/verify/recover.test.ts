import { expect } from 'chai';
import { sha256 } from '#kit/digest.ts';
import { codeOf } from '#kit/errors.ts';
import { planned, sampleRequest, turn } from '../../../../test/contract/run-store.sample.ts';
import type { NewEvent, RunEvent } from '../event.ts';
import { beforeFirst, lineOf, writeLines } from '../log/event-line.ts';
import type { RunRecord } from './record.ts';
import { recovery, soundPart, stateOf } from './recover.ts';

const run_id = 'run_0199f3c2-0000-7000-8000-000000000000';
const at = '2026-01-02T03:04:05.000Z';
const mark = { seq: 9, hash: '9'.repeat(64) };
const recovered = (by: string): NewEvent => ({
  type: 'record_recovered',
  data: { by, reason: 'the disk', lost: null, kept: mark, set_aside: null },
});

function eventsOf(...events: NewEvent[]): RunEvent[] {
  const created: NewEvent = { type: 'run_created', data: { request: sampleRequest(), head_kept: true } };
  return writeLines(beforeFirst, at, [created, ...events]).lines;
}

function recordOf(events: readonly RunEvent[], acknowledged: RunEvent | null, behind = ''): RunRecord {
  const log = Buffer.from(events.map(lineOf).join('') + behind);
  const names = { log: 'run_events', artifacts: 'run_artifacts' };
  return { run_id, names, log, acknowledged, artifacts: new Map(), problems: [] };
}

function recover(record: RunRecord): NewEvent {
  const { rest } = soundPart(record);
  const aside = rest.length === 0 ? null : { bytes: rest, digest: sha256(rest) };
  return recovery({ run_id, by: { name: 'mira', scopes: [] }, reason: 'the disk' }, stateOf(record), aside);
}

function refusal(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return codeOf(error);
  }
  throw new Error('it should have failed, and did not');
}

const placeOf = ({ seq, hash }: RunEvent) => ({ seq, hash });

describe('the record of a run and its newest acknowledged event', () => {
  const events = eventsOf(...planned(run_id), turn());
  const last = events.at(-1)!;

  it('is whole if the log ends with the acknowledged event', () => {
    const record = recordOf(events, last);
    expect(stateOf(record)).to.deep.equal({
      run_id,
      acknowledged: placeOf(last),
      last_type: 'planner_turn',
      kept: placeOf(last),
      bytes_behind: 0,
      problem: null,
      restorable: false,
      recovered: null,
    });
    expect(refusal(() => recover(record))).to.equal('record_whole');
  });

  it('names the time and the person of its last recovery', () => {
    const record = recordOf(eventsOf(turn(), recovered('noor'), recovered('mira'), turn()), null);
    expect(stateOf(record)).to.deep.include({ problem: null, recovered: { seq: 4, at, by: 'mira' } });
  });

  it('names events that are missing, that differ, and that were never acknowledged', () => {
    expect(stateOf(recordOf(events.slice(0, -1), last)).problem).to.contain(
      `run_events ends with event ${last.seq - 1}, and event ${last.seq} (planner_turn,`,
    );
    expect(stateOf(recordOf(events.slice(0, -3), last)).problem).to.contain(
      `events ${last.seq - 2} to ${last.seq}`,
    );
    expect(stateOf(recordOf(events, { ...last, hash: '0'.repeat(64) })).problem).to.contain('has the hash');
    expect(stateOf(recordOf(events, events.at(-2)!)).problem).to.contain('only');
  });

  it('continues from its last sound event, and keeps the bytes after it', () => {
    const behind = events.slice(4).map(lineOf).join('');
    const record = recordOf(events.slice(0, 3), last, behind);
    expect(stateOf(record)).to.deep.include({
      problem: 'run_events line 4: seq is 5 and must be 4',
      kept: placeOf(events[2]!),
      bytes_behind: Buffer.byteLength(behind),
    });
    expect(recover(record)).to.deep.equal({
      type: 'record_recovered',
      data: {
        by: 'mira',
        reason: 'the disk',
        lost: placeOf(last),
        kept: placeOf(events[2]!),
        set_aside: { bytes: Buffer.byteLength(behind), artifact: sha256(behind) },
      },
    });
  });

  it('keeps a single byte', () => {
    expect(recover(recordOf(events.slice(0, 1), events[1]!, '{')).data).to.deep.include({
      set_aside: { bytes: 1, artifact: sha256('{') },
    });
  });

  it('is lost if no event is left', () => {
    for (const record of [
      recordOf([], last),
      recordOf(events.slice(1), last),
      { ...recordOf([], last), log: null },
    ])
      expect(refusal(() => recover(record))).to.equal('record_lost');
  });
});

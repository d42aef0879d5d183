import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { sha256 } from '#kit/digest.ts';
import type { CoreError } from '#kit/errors.ts';
import { planned, sampleRequest, turn } from '../../../../test/contract/run-store.sample.ts';
import type { NewEvent, RunEvent } from '../event.ts';
import { beforeFirst } from '../log/event-line.ts';
import { writeLines } from '../log/event-log.ts';
import { Heads } from '../log/heads.ts';
import { logName } from '../log/run-folder.ts';
import { readRecord, recovery } from './recover.ts';

const runId = 'run_0199f3c2-0000-7000-8000-000000000000';
const at = '2026-01-02T03:04:05.000Z';
const mark = { seq: 9, hash: '9'.repeat(64) };
const recovered = (by: string): NewEvent => ({
  type: 'record_recovered',
  data: { by, reason: 'the disk', lost: null, kept: mark, set_aside: null },
});
const adopted: NewEvent = { type: 'head_adopted', data: { head: mark } };

describe('the record of a run and what was acknowledged of it', () => {
  let base: string;
  let heads: Heads;
  let log: string;
  let head: string;

  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'core-recover-'));
    heads = new Heads(base);
    mkdirSync(join(base, runId));
    log = join(base, runId, logName);
    head = join(base, 'heads', runId);
  });

  afterEach(() => {
    heads.syncAll();
    rmSync(base, { recursive: true });
  });

  /** A run of an older version, of which no head was kept, and these events after the first. */
  function write(...events: NewEvent[]): RunEvent[] {
    const created: NewEvent = {
      type: 'run_created',
      data: { request: sampleRequest(), head_kept: undefined },
    };
    const { lines, text } = writeLines(beforeFirst, at, [created, ...events]);
    writeFileSync(log, text);
    return lines;
  }

  const cut = (...lines: number[]): void =>
    writeFileSync(
      log,
      linesOf()
        .filter((_, index) => !lines.includes(index + 1))
        .join(''),
    );
  const linesOf = (): string[] => readFileSync(log, 'utf8').split(/(?<=\n)/);
  const record = () => readRecord(runId, base, heads);
  const recover = () =>
    recovery({ run_id: runId, by: { name: 'mira', scopes: [] }, reason: 'the disk' }, base, heads);
  const refusal = (work: () => unknown): Pick<CoreError, 'code' | 'message' | 'hint'> => {
    try {
      work();
    } catch (error) {
      const { code, message, hint } = error as CoreError;
      return { code, message, hint };
    }
    throw new Error('it should have failed, and did not');
  };
  const placeOf = ({ seq, hash }: RunEvent) => ({ seq, hash });
  const unreadable = `the record of run ${runId} is not whole: what is known of its head cannot be read`;

  it('is whole where the log holds what was acknowledged', () => {
    const events = write(...planned(runId), turn());
    const last = events.at(-1)!;
    heads.acknowledge(runId, last);
    expect(record()).to.deep.equal({
      run_id: runId,
      acknowledged: placeOf(last),
      last_type: 'planner_turn',
      kept: placeOf(last),
      bytes_behind: 0,
      problem: null,
      restorable: false,
      recovered: null,
    });
    expect(refusal(recover)).to.deep.equal({
      ...{ code: 'record_whole', message: `the record of run ${runId} is whole`, hint: undefined },
    });
  });

  it('is whole where nothing was acknowledged yet, and says when it was recovered last and by whom', () => {
    const events = write(turn(), recovered('noor'), recovered('mira'), turn());
    heads.create(runId);
    const nothing = { seq: 0, hash: '0'.repeat(64) };
    expect(record()).to.deep.include({ acknowledged: nothing, last_type: null, problem: null });
    expect(record()).to.deep.include({ recovered: { seq: 4, at, by: 'mira' } });
    rmSync(head);
    expect(record()).to.deep.include({ acknowledged: null, last_type: null, problem: null });
    expect(record().kept).to.deep.equal(placeOf(events.at(-1)!));
  });

  it('is missing its head where the log says that one was kept', () => {
    write(turn(), adopted);
    const problem = `what was known of its head, outside its folder, is gone (heads/${runId})`;
    expect(record()).to.deep.include({ acknowledged: null, problem });
    expect(recover().data).to.deep.include({ lost: null, set_aside: null });
  });

  it('is missing its head where its first event says that one was kept', () => {
    for (const head_kept of [true, undefined] as const) {
      const created: NewEvent = { type: 'run_created', data: { request: sampleRequest(), head_kept } };
      writeFileSync(log, writeLines(beforeFirst, at, [created, turn()]).text);
      const problem = `what was known of its head, outside its folder, is gone (heads/${runId})`;
      expect(record()).to.deep.include({ acknowledged: null, problem: head_kept ? problem : null });
    }
  });

  it('is no problem where neither a log nor a head was ever there', () => {
    expect(record()).to.deep.include({ acknowledged: null, kept: null, problem: null });
  });

  it('goes on from its last sound event, and keeps what stood behind it', () => {
    const events = write(...planned(runId), turn());
    const text = readFileSync(log, 'utf8');
    heads.acknowledge(runId, events.at(-1)!);
    cut(4);
    const behind = linesOf().slice(3).join('');
    const problem = 'events.jsonl line 4: seq is 5 and must be 4';
    expect(record()).to.deep.include({
      problem,
      kept: placeOf(events[2]!),
      bytes_behind: Buffer.byteLength(behind),
    });
    expect(recover()).to.deep.equal({
      type: 'record_recovered',
      data: {
        by: 'mira',
        reason: 'the disk',
        lost: placeOf(events.at(-1)!),
        kept: placeOf(events[2]!),
        set_aside: { bytes: Buffer.byteLength(behind), artifact: sha256(behind) },
      },
    });
    expect(readFileSync(log, 'utf8')).to.equal(
      text.slice(0, text.indexOf(linesOf()[2]!) + linesOf()[2]!.length),
    );
    expect(readFileSync(join(base, runId, 'artifacts', sha256(behind)), 'utf8')).to.equal(behind);
  });

  it('goes on from its first event, and keeps a single byte', () => {
    const events = write(turn());
    heads.acknowledge(runId, events.at(-1)!);
    cut(2);
    const sound = readFileSync(log, 'utf8');
    writeFileSync(log, `${sound}{`);
    expect(record().problem).to.match(/^events.jsonl ends with event 1, and event 2 \(planner_turn, /);
    expect(recover().data).to.deep.include({ set_aside: { bytes: 1, artifact: sha256('{') } });
    expect(readFileSync(log, 'utf8')).to.equal(sound);
  });

  it('blames the head that cannot be read before all else, with a log and without', () => {
    write(turn());
    mkdirSync(join(base, 'heads'));
    writeFileSync(head, '');
    cut(1);
    expect(record().problem).to.contain(unreadable);
    expect(record()).to.deep.include({ acknowledged: null, kept: { seq: 0, hash: '0'.repeat(64) } });
    rmSync(log);
    expect(record().problem).to.contain(unreadable);
    const { bytes_behind, kept, recovered } = record();
    expect({ bytes_behind, kept, recovered }).to.deep.equal({ bytes_behind: 0, kept: null, recovered: null });
  });

  it('is lost where no event is left', () => {
    const events = write(turn());
    heads.acknowledge(runId, events.at(-1)!);
    const lost = {
      code: 'record_lost',
      message: `nothing is left of the record of run ${runId} to go on from`,
      hint: 'Restore it from a backup, or plan the issue again.',
    };
    cut(1);
    expect(refusal(recover)).to.deep.equal(lost);
    cut(1, 2);
    expect(refusal(recover)).to.deep.equal(lost);
    rmSync(log);
    expect(record().problem).to.contain('events.jsonl is gone, with 2 acknowledged events');
    expect(refusal(recover)).to.deep.equal(lost);
  });

  it('is not read from what is no file', () => {
    mkdirSync(log);
    expect(refusal(record).code).to.equal('run_damaged');
  });
});

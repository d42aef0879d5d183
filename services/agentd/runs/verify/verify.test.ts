import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { sha256 } from '#kit/digest.ts';
import { codeOf } from '#kit/errors.ts';
import {
  decided,
  executionFinished,
  executionStarted,
  intended,
  planned,
  resulted,
  sampleAction,
  sampleRequest,
  turn,
} from '../../../../test/contract/run-store.sample.ts';
import { itWith } from '../../../../test/needs.ts';
import type { NewEvent } from '../event.ts';
import { putArtifact } from '../log/artifacts.ts';
import { beforeFirst, hashOf, parseLine, writeLines } from '../log/event-line.ts';
import { logName } from '../log/run-folder.ts';
import { writeViews } from '../views/views.ts';
import { recordInFolder } from './record.ts';
import { checkChain, verifyFolder, verifyRecord } from './verify.ts';

const runId = 'run_0199f3c2-0000-7000-8000-000000000000';
const plan = planned(runId);
const actions = plan.flatMap((event) => (event.type === 'action_proposed' ? [event.data.action] : []));
const [first] = actions.map(({ action_id }) => action_id) as [string];
const at = '2026-01-02T03:04:05.000Z';

describe('verifying a run', () => {
  let base: string;
  let folder: string;

  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'core-verify-'));
    folder = join(base, runId);
    mkdirSync(folder);
    putArtifact(folder, 'content');
    putArtifact(folder, 'one');
  });

  afterEach(() => rmSync(base, { recursive: true }));

  const verified = () => verifyFolder(runId, base);

  function write(...events: NewEvent[]): string {
    const created: NewEvent = {
      type: 'run_created',
      data: { request: sampleRequest(), head_kept: undefined },
    };
    const { text } = writeLines(beforeFirst, at, [created, ...events]);
    writeFileSync(join(folder, logName), text);
    // As the store does it: from what the file says.
    writeViews(runId, folder, checkChain(Buffer.from(text)).events);
    return text;
  }

  const problems = (): string[] => verified().problems.map(({ where, what }) => `${where}: ${what}`);
  const problemsOf = (...events: NewEvent[]): string => {
    write(...events);
    return problems().join('\n');
  };

  const sound = [
    ...plan,
    turn(),
    decided(actions[0]!, 'reject'),
    ...actions.map((action) => decided(action)),
    executionStarted({ dry_run: true }),
    resulted(first, { rehearsal: true }),
    executionFinished(),
    executionStarted(),
    intended(first),
    resulted(first),
    executionFinished(),
  ];

  it('finds nothing in a sound one, and counts', () => {
    write(...sound);
    const verification = verified();
    expect(verification.problems).to.deep.equal([]);
    expect(verification).to.include({ run_id: runId, events: sound.length + 1, artifacts: 2 });
    expect(verification.head).to.match(/^[0-9a-f]{64}$/);
  });

  itWith(['time'], 'finds every change of a single byte', () => {
    const reason = 'é \ufffd \u0001 "';
    const log = Buffer.from(
      write(turn(), { type: 'cancel_requested', data: { by: 'mira', reason } }, turn()),
    );
    expect(problems()).to.deep.equal([]);
    for (let position = 0; position < log.length; position++) {
      for (const flip of [0x01, 0x20, 0x80]) {
        const changed = Buffer.from(log);
        changed[position]! ^= flip;
        writeFileSync(join(folder, logName), changed);
        expect(problems(), `byte ${position}, flipped ${flip}`).not.to.deep.equal([]);
      }
    }
  });

  it('finds any byte that was replaced, added or taken away, anywhere', () => {
    const log = Buffer.from(write(...sound));
    const change = fc.record({
      at: fc.nat({ max: log.length - 1 }),
      remove: fc.nat({ max: 3 }),
      insert: fc.uint8Array({ maxLength: 3 }),
    });
    fc.assert(
      fc.property(change, ({ at: from, remove, insert }) => {
        const changed = Buffer.concat([log.subarray(0, from), insert, log.subarray(from + remove)]);
        fc.pre(!changed.equals(log));
        writeFileSync(join(folder, logName), changed);
        expect(problems()).not.to.deep.equal([]);
      }),
      { numRuns: 150 },
    );
  });

  it('finds events that were taken out, moved or doubled, and says where', () => {
    const lines = write(...sound).split('\n');
    const rewrite = (change: string[]): string => {
      writeFileSync(join(folder, logName), change.join('\n'));
      return problems().join('\n');
    };
    expect(rewrite(lines.toSpliced(4, 1)))
      .to.contain('line 5')
      .and.contain('must be 5');
    expect(rewrite(lines.toSpliced(4, 2, lines[5]!, lines[4]!)))
      .to.contain('line 5')
      .and.contain('line 6');
    expect(rewrite(lines.toSpliced(4, 0, lines[4]!))).to.contain('line 6');
    expect(rewrite(lines.toSpliced(-3, 2))).to.contain('tail was cut off');
    expect(rewrite([''])).to.contain('holds no event');
  });

  it('names the field that was changed, as far as the hash shows it', () => {
    const text = write(...sound);
    const change = (from: string, to: string): string => {
      expect(text.split(from).length, from).to.be.greaterThan(1);
      writeFileSync(join(folder, logName), text.replace(from, to));
      return problems().join('\n');
    };
    expect(change('"seq":3,', '"seq":9,')).to.match(
      /^events.jsonl line 3 \(source_read\): seq is 9 and must be 3/,
    );
    expect(change('"requested_by":"mira"', '"requested_by":"mirb"')).to.contain(
      'line 1 (run_created): at, data or hash',
    );
    expect(change('"type":"execution_finished"', '"type":"execution_started"')).to.contain(
      'which was execution_finished',
    );
    expect(change('"requested_by":"mira"', '"requested_by":"mira" ')).to.contain('not written the way');
    expect(change('"Greeting is wrong"', '7')).to.contain('/issue/title is 7: must be a string');
  });

  it('finds time that goes backwards, and has nothing against time that stands still', () => {
    const created: NewEvent = {
      type: 'run_created',
      data: { request: sampleRequest(), head_kept: undefined },
    };
    const times = [at, '2026-01-02T03:04:04.000Z', '2026-01-02T03:04:03.000Z'] as const;
    const [one, two, three] = [created, turn(), turn()] as const;
    const first = writeLines(beforeFirst, times[0], [one]);
    const second = writeLines(first.lines[0]!, times[1], [two, turn()]);
    const third = writeLines(second.lines[1]!, times[2], [three]);
    writeFileSync(join(folder, logName), first.text + second.text + third.text);
    expect(problems()).to.deep.equal([
      `events.jsonl line 2: at is ${times[1]}, before the event before it (${times[0]})`,
      `events.jsonl line 4: at is ${times[2]}, before the event before it (${times[1]})`,
    ]);
  });

  it('reports one change once, also where a line cannot be read any more', () => {
    const lines = write(...sound).split(/(?<=\n)/);
    const hash = (line: number): string => JSON.parse(lines[line - 1]!).hash;
    const changed = (line: number, from: RegExp | string, to: string): string[] => {
      expect(lines[line - 1]).to.match(new RegExp(from));
      writeFileSync(join(folder, logName), lines.with(line - 1, lines[line - 1]!.replace(from, to)).join(''));
      return problems().map((problem) => problem.replace(/not an event: .*/, 'not an event'));
    };
    const other = 'f'.repeat(64);
    expect(changed(8, /^./, '')).to.deep.equal(['events.jsonl line 8: not an event']);
    expect(changed(4, '"seq":4', '"seq":9')).to.deep.equal([
      'events.jsonl line 4 (action_proposed): seq is 9 and must be 4: an event was added, removed or moved',
    ]);
    expect(changed(4, /(?<="prev":")[^"]+/, other)).to.deep.equal([
      `events.jsonl line 4 (action_proposed): prev is ${other}, but the event before has the hash ${hash(3)}`,
    ]);
    expect(changed(8, 'planner_turn', 'planner_prompt')).to.deep.equal([
      'events.jsonl line 8 (planner_prompt): type, which was planner_turn, was changed after it was written: the content gives the hash ' +
        `${computed(lines[7]!.replace('planner_turn', 'planner_prompt'))}, the line says ${hash(8)}`,
    ]);
    expect(changed(8, '"cached_tokens":0', '"cached_tokens":"0"')[1]).to.match(
      /^events.jsonl line 8 \(planner_turn\): .*cached_tokens is "0": must be a number/,
    );
    const prompt = changed(8, /"seq":8(.*)planner_turn/, '"seq":9$1planner_prompt');
    expect(prompt).to.have.length(2);
    expect(prompt[1]).to.contain('(planner_prompt): type, which was planner_turn, was changed');
    const chained = changed(8, /planner_turn(.*"prev":")[^"]+/, `planner_prompt$1${other}`);
    expect(chained[1]).to.contain('(planner_prompt): type, which was planner_turn, was changed');
    const both = changed(8, /"seq":8(.*)read_file/, '"seq":9$1read_fire');
    expect(both[0]).to.contain('line 8 (planner_turn): seq is 9 and must be 8');
    expect(both[1]).to.contain('line 8 (planner_turn): at, data or hash was changed');
    writeFileSync(join(folder, logName), lines.toSpliced(7, 1).join(''));
    expect(problems().slice(0, 2)).to.deep.equal([
      'events.jsonl line 8 (approval_recorded): seq is 9 and must be 8: an event was added, removed or moved',
      `events.jsonl line 8 (approval_recorded): prev is ${hash(8)}, but the event before has the hash ${hash(7)}`,
    ]);
    expect(problems()[2]).to.match(/^events.jsonl line 9 \(approval_recorded\): seq is 10/);
    const last = changed(lines.length, /(?<="hash":")[^"]+/, other);
    expect(last).to.deep.equal([
      `events.jsonl line 19 (execution_finished): at, data or hash was changed after it was written: the content gives the hash ${hash(19)}, the line says ${other}`,
    ]);
  });

  const computed = (line: string): string => {
    const { raw, canonical } = parseLine(Buffer.from(line.trimEnd()));
    return hashOf(raw, canonical);
  };

  it('says how much a write that was cut off left behind the last event', () => {
    const text = write(...sound);
    writeFileSync(join(folder, logName), `${text}{"seq":`);
    expect(problems()).to.deep.equal([
      `events.jsonl line 20: 7 bytes after event 19 end without a line feed: a write that a crash cut off, or a change; the next write sets them aside`,
    ]);
    writeFileSync(join(folder, logName), '{"seq":');
    expect(problems().slice(0, 2)).to.deep.equal([
      'events.jsonl line 1: 7 bytes after event 0 end without a line feed: a write that a crash cut off, or a change; the next write sets them aside',
      'events.jsonl: holds no event',
    ]);
  });

  it('compares the log with its head, and blames the head for nothing that a line explains', () => {
    const text = write(...sound);
    const lines = text.split(/(?<=\n)/);
    const { seq, hash, type } = JSON.parse(lines.at(-1)!);
    const found = (changed: readonly string[] | null): string[] => {
      const record = recordInFolder(runId, base);
      const log = changed === null ? null : Buffer.from(changed.join(''));
      return verifyRecord({ ...record, log, acknowledged: { seq, hash, type } }).problems.map(
        ({ where, what }) => `${where}: ${what}`,
      );
    };
    expect(found(lines)).to.deep.equal([]);
    const gone = `event 19 (execution_finished, hash ${hash.slice(0, 12)}) was acknowledged`;
    expect(found(lines.slice(0, -1))).to.deep.equal([
      `events.jsonl: events.jsonl ends with event 18, and ${gone}`,
    ]);
    expect(found(lines.with(-1, lines.at(-1)!.replace('ended', 'endet')))).to.have.length(1);
    const removed = found(lines.toSpliced(15, 1));
    expect(removed[0]).to.equal('events.jsonl: events.jsonl line 16: seq is 17 and must be 16');
    expect(removed[1]).to.match(/^events.jsonl line 16 /);
    expect(found(null)[0]).to.contain('and events 1 to 19');
  });

  it('finds no run without a log, and reads no log that is not a file', () => {
    expect(codeOf(thrownBy(verified))).to.equal('run_not_found');
    mkdirSync(join(folder, logName));
    expect(codeOf(thrownBy(verified))).to.equal('run_damaged');
  });

  const thrownBy = (work: () => unknown): unknown => {
    try {
      return work();
    } catch (error) {
      return error;
    }
  };

  it('checks also the artifacts that no event names', () => {
    write(...sound);
    const spare = putArtifact(folder, 'spare');
    expect(verified()).to.deep.include({ artifacts: 3, problems: [] });
    const path = join(folder, 'artifacts', spare);
    writeFileSync(path, 'changed');
    expect(problems()).to.deep.equal([
      `artifacts/${spare}: damaged: it was changed: its sha256 is now ${sha256('changed')} (named by no event)`,
    ]);
    rmSync(path);
    mkdirSync(path);
    expect(problems()[0]).to.match(/: cannot be read \(named by no event\)$/);
    rmSync(path, { recursive: true });
    writeFileSync(join(folder, 'artifacts', sha256('content')), 'changed');
    expect(problems()[0]).to.match(/: damaged: .* \(named by issue.content of event 3\)$/);
    putArtifact(folder, 'content');
    for (const name of ['evil', `${spare}a`, `a${spare}`]) writeFileSync(join(folder, 'artifacts', name), '');
    expect(problems()).to.have.length(3);
    rmSync(join(folder, 'artifacts'), { recursive: true });
    expect(problems()).to.deep.equal([
      `artifacts/${sha256('content')}: removed (named by issue.content of event 3)`,
      `artifacts/${sha256('one')}: removed (named by content of event 8)`,
    ]);
  });

  it('reports a log that does not begin with the creation of the run, beside views of it', () => {
    write(...sound);
    const { text } = writeLines(beforeFirst, at, [turn(), ...sound]);
    writeFileSync(join(folder, logName), text);
    expect(problems()).to.deep.equal([
      'events.jsonl line 1: the first event is planner_turn and must be run_created',
    ]);
  });

  it('finds a chain that was recomputed over changed definitions', () => {
    const other = { ...sampleAction(runId, 1, 'create_branch'), ordinal: 2 };
    const forged = plan.map(
      (event): NewEvent =>
        event.type === 'action_proposed' && event.data.action.ordinal === 1
          ? { type: 'action_proposed', data: { action: other } as never }
          : event,
    );
    expect(problemsOf(...forged))
      .to.contain('the definition of act_1_create_branch was changed')
      .and.contain('is sealed with');
  });

  const validation = sampleAction(runId, 4, 'run_validation');
  const validated = (): NewEvent[] => {
    const facts = {
      passed: true,
      report: putArtifact(folder, 'one'),
      logs: { test: putArtifact(folder, 'content') },
    };
    const proposal: NewEvent = { type: 'action_proposed', data: { action: validation } };
    const withValidation = plan.toSpliced(-1, 1, proposal, sealedWith(validation));
    return [
      ...withValidation,
      decided(validation),
      executionStarted(),
      intended(validation.action_id),
      resulted(validation.action_id, {}, facts),
    ];
  };
  const sealedWith = (action: typeof validation): NewEvent => {
    const sealed = plan.at(-1)!;
    if (sealed.type !== 'plan_sealed') throw new TypeError('no plan');
    const { action_id, digest } = action;
    return {
      type: 'plan_sealed',
      data: { plan: { ...sealed.data.plan, sealed: [...sealed.data.plan.sealed, { action_id, digest }] } },
    };
  };
  const filesIn = (): string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      statSync(join(folder, name)).isFile(),
    );

  it('finds a change of any file of the run, and names the file', () => {
    write(...validated());
    expect(problems()).to.deep.equal([]);
    const names = filesIn();
    expect(names).to.include.members([
      'branch-recovery.json',
      'validation/index.json',
      'validation/test.log',
    ]);
    for (const name of names) {
      const before = readFileSync(join(folder, name));
      for (const changed of [
        Buffer.concat([before, Buffer.from(' ')]),
        before.subarray(1),
        Buffer.alloc(0),
      ]) {
        writeFileSync(join(folder, name), changed);
        expect(problems().join('\n'), name).to.contain(name);
      }
      writeFileSync(join(folder, name), before);
    }
  });

  it('has nothing against views that are missing or older than the log', () => {
    write(...validated().slice(0, -1));
    const old = readFileSync(join(folder, 'actions.json'));
    write(...validated());
    writeFileSync(join(folder, 'actions.json'), old);
    rmSync(join(folder, 'summary.md'));
    rmSync(join(folder, 'validation/test.log'));
    expect(problems()).to.deep.equal([]);
    writeFileSync(join(folder, 'actions.json'), old.toString().replace('"approved"', '"rejected"'));
    expect(problems().join('\n')).to.contain('actions.json: is not what');
  });
});

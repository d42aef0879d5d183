import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
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
import type { NewEvent, RunEvent } from '../event.ts';
import { putArtifact } from '../log/artifacts.ts';
import { beforeFirst, writeLines } from '../log/event-line.ts';
import { fold } from '../log/fold.ts';
import { recoveryManifest } from './recovery-manifest.ts';
import { writeViews } from './views.ts';

const runId = 'run_0199f3c2-0000-7000-8000-000000000000';
const plan = planned(runId, 5);
const actions = plan.flatMap((event) => (event.type === 'action_proposed' ? [event.data.action] : []));
const ids = Object.fromEntries(actions.map(({ kind, action_id }) => [kind, action_id])) as Record<
  string,
  string
>;
const commit = '3'.repeat(40);
const vcs = {
  kind: 'jj' as const,
  version: '0.41.0',
  operation_id: 'op1',
  change_id: 'kkk',
  commit,
  tree: null,
};

const executed: NewEvent[] = [
  ...plan,
  ...actions.map((action) => decided(action)),
  executionStarted({ repo_dir: "/home/mira's/hello" }),
  {
    type: 'workspace_opened',
    data: { vcs: { ...vcs, operation_id: 'op0', commit: null }, clone_dir: '/state/clones/x', warning: null },
  },
  intended(ids.create_branch!),
  resulted(ids.create_branch!, { vcs }),
  intended(ids.commit!),
  resulted(
    ids.commit!,
    { vcs: { ...vcs, operation_id: 'op2' } },
    { commit, tree: 't', delivered_ref: 'refs/heads/core/1-x', repo_dir: "/home/mira's/hello" },
  ),
  intended(ids.push_branch!),
  resulted(ids.push_branch!, {}, { branch: 'core/1-x', commit, remote: '/srv/hello.git' }),
  intended(ids.open_pull_request!),
  resulted(ids.open_pull_request!, {}, { number: 2, url: 'https://forge/2' }),
  executionFinished(),
];

function eventsOf(...more: NewEvent[]): RunEvent[] {
  const created: NewEvent = { type: 'run_created', data: { request: sampleRequest(), head_kept: undefined } };
  return writeLines(beforeFirst, '2026-01-02T03:04:05.000Z', [created, ...more]).lines;
}

describe('the recovery manifest', () => {
  it('says where the change lies, and how to take it back by hand', () => {
    const manifest = recoveryManifest(fold(runId, eventsOf(...executed)));
    expect(manifest).to.deep.include({
      run_id: runId,
      vcs: 'jj',
      vcs_version: '0.41.0',
      repo: 'demo/hello',
      remote: '/srv/hello.git',
      base_branch: 'main',
      branch: 'core/1-x',
      vcs_change_id: 'kkk',
      vcs_operation_id: 'op0',
      commit,
      tree: 't',
      pushed: { remote: '/srv/hello.git', branch: 'core/1-x', commit },
      pull_request: { number: 2, url: 'https://forge/2' },
      restore: [
        `git -C /state/clones/x push --force-with-lease=refs/heads/core/1-x:${commit} /srv/hello.git :refs/heads/core/1-x`,
        `git -C '/home/mira'\\''s/hello' update-ref -d refs/heads/core/1-x ${commit}`,
        'jj --repository /state/clones/x operation restore op0',
      ],
    });
    expect(
      manifest.operations.map(({ kind, before, after }) => [kind, before, after]),
    ).to.deep.include.members([
      ['create_branch', 'op0', 'op1'],
      ['commit', 'op0', 'op2'],
    ]);
  });

  it('quotes what a shell would read otherwise', () => {
    const { restore } = recoveryManifest(fold(runId, eventsOf(...executed)));
    const words = execFileSync('sh', ['-c', `printf '%s\\n' ${restore[1]}`], { encoding: 'utf8' });
    expect(words.split('\n')[2]).to.equal("/home/mira's/hello");
  });

  it('is there before anything happened', () => {
    const manifest = recoveryManifest(fold(runId, eventsOf()));
    expect(manifest).to.deep.include({
      vcs: null,
      commit: null,
      pushed: null,
      pull_request: null,
      restore: [],
      operations: [],
    });
  });

  it('forgets what was undone', () => {
    const undone: NewEvent[] = [
      { type: 'undo_started', data: { undo_id: 'u', by: 'mira', pid: 1 } },
      {
        type: 'undo_result',
        data: { undo_id: 'u', action_id: ids.push_branch!, state: 'undone', message: '' },
      },
    ];
    const manifest = recoveryManifest(fold(runId, eventsOf(...executed, ...undone)));
    expect(manifest.pushed).to.equal(null);
    expect(manifest.restore).to.have.length(2);
  });
});

describe('views', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'core-views-'));
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  const json = (name: string): Record<string, unknown> =>
    JSON.parse(readFileSync(join(folder, name), 'utf8'));

  it('are as of the newest event, each of them, and written again', () => {
    for (const events of [eventsOf(), eventsOf(...plan), eventsOf(...executed)]) {
      writeViews(runId, folder, events);
      for (const name of readdirSync(folder).filter((entry) => entry.endsWith('.json'))) {
        expect(json(name), name).to.include({ as_of_seq: events.length, run_id: runId });
      }
      expect(readFileSync(join(folder, 'summary.md'), 'utf8')).to.contain(`as of event ${events.length} `);
    }
    expect(readdirSync(folder).toSorted()).to.deep.equal([
      'actions.json',
      'branch-recovery.json',
      'eval.json',
      'request.json',
      'session.json',
      'summary.json',
      'summary.md',
      'trace.jsonl',
    ]);
    expect(json('summary.json').status).to.equal('awaiting_approval');
    expect((json('actions.json').actions as { approval: string }[])[0]?.approval).to.equal('approved');
  });

  it('trace what began and ended, below one run', () => {
    writeViews(runId, folder, eventsOf(...plan, turn(), ...executed.slice(plan.length)));
    const spans = readFileSync(join(folder, 'trace.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const [root, ...rest] = spans;
    expect(root).to.include({ name: 'run', parentSpanId: null, traceId: '0199f3c2000070008000000000000000' });
    expect(rest.map(({ name }) => name)).to.include.members([
      'planning',
      'planner_turn',
      'execute',
      'action',
    ]);
    const known = new Set(spans.map(({ spanId }) => spanId));
    expect(known.size).to.equal(spans.length);
    for (const span of rest) {
      expect(known.has(span.parentSpanId)).to.equal(true);
      expect(span.startTimeUnixNano).to.match(/^\d{19}$/);
      expect(span.status).to.equal('ok');
    }
  });

  it('copy report and logs of the validation under names that stay in the folder', () => {
    const validation = sampleAction(runId, 6, 'run_validation');
    const report = putArtifact(folder, '{"passed":true}');
    const log = putArtifact(folder, 'all good');
    const proposal: NewEvent = { type: 'action_proposed', data: { action: validation } };
    const facts = {
      passed: true,
      report,
      logs: { '../../escape': log, test: log, gone: 'f'.repeat(64), odd: 7 },
    };
    const events = eventsOf(
      proposal,
      intended(validation.action_id),
      resulted(validation.action_id, {}, facts),
    );
    writeViews(runId, folder, events);
    const names = (): string[] => readdirSync(join(folder, 'validation')).toSorted();
    expect(names()).to.deep.equal(['_escape.log', 'index.json', 'report.json', 'test.log']);
    expect(readFileSync(join(folder, 'validation/test.log'), 'utf8')).to.equal('all good');
    expect(json('validation/index.json')).to.include({ as_of_seq: events.length, passed: true, report });
    writeFileSync(join(folder, 'validation/old.log'), 'of an earlier one');
    writeViews(runId, folder, events);
    expect(names()).not.to.include('old.log');
    writeViews(runId, folder, eventsOf());
    expect(existsSync(join(folder, 'validation/report.json'))).to.equal(false);
  });

  it('keep text from outside on its line', () => {
    const source = {
      ...(plan[1]!.data as object),
      issue: { ...issueOf(plan[1]!), title: 'a\n# b | <script>' },
    };
    writeViews(runId, folder, eventsOf({ type: 'source_read', data: source } as NewEvent));
    expect(readFileSync(join(folder, 'summary.md'), 'utf8').split('\n')[0]).to.equal(
      '# demo/hello#1 a # b \\| &lt;script>',
    );
  });
});

function issueOf(event: NewEvent): object {
  if (event.type !== 'source_read') throw new TypeError('no source');
  return event.data.issue;
}

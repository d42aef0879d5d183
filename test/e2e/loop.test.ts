import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  issueBody,
  issueTitle,
  makeDemoRepository,
} from '../../services/supervisor/quickstart/demo-repository.ts';
import { makePlace, type Place } from './core-process.ts';

describe('core from an issue to a pull request and back', () => {
  const demo = ['--owner', 'demo', '--repo', 'hello'];
  let place: Place;
  let checkout: string;
  let runId: string;

  before(async () => {
    place = makePlace();
    checkout = join(place.folder, 'hello');
    await makeDemoRepository(checkout);
    await place.core('forge', 'init', ...demo, '--from', checkout);
    writeFileSync(join(place.folder, 'issue.md'), issueBody);
    await place.git(
      '-C',
      checkout,
      'remote',
      'add',
      'origin',
      join(place.home, 'state/forge/demo/hello/repository.git'),
    );
    const issue = [
      '--title',
      issueTitle,
      '--body-file',
      join(place.folder, 'issue.md'),
      '--author',
      'mira',
      '--association',
      'contributor',
    ];
    await place.core('forge', 'issue', 'new', ...demo, ...issue);
    // Some machines that run these tests have no sandbox; the demo is our own code.
    writeFileSync(join(place.home, 'config/validation.json'), '{"allow_unsandboxed": true}');
  });
  after(() => place.remove());

  it('plans without writing to the repository, and shows the actions by gate', async () => {
    const before = await place.git('-C', checkout, 'for-each-ref');
    const { exitCode, stdout } = await place.core('plan-issue', ...demo, '--number', '1');
    expect(exitCode).to.equal(0);
    expect(stdout).to.match(/demo\/hello#1 {2}Greeting is wrong.* issue by mira \(contributor\)/);
    expect(stdout).to.contain('\npatch by mira (contributor, no write access), in the issue\n');
    expect(stdout).to.match(/build\n +1 {2}create_branch .*\n +2 {2}apply_patch .*2 files, \+7/);
    expect(stdout).to.contain('Nothing was written to the repository.');
    expect(await place.git('-C', checkout, 'for-each-ref')).to.equal(before);
    const { runs } = JSON.parse((await place.core('runs', '--json')).stdout);
    expect(runs).to.have.length(1);
    runId = runs[0].run_id;
  });

  it('shows a diff that git applies as it is', async () => {
    const { stdout } = await place.core('diff', runId, '--raw');
    writeFileSync(join(place.folder, 'change.patch'), stdout);
    await place.git('-C', checkout, 'apply', '--check', join(place.folder, 'change.patch'));
    expect((await place.core('diff', runId)).stdout).to.equal(stdout);
  });

  it('refuses to execute what nobody approved, with exit code 3', async () => {
    const { exitCode, stdout, stderr } = await place.core(
      'execute-approved',
      '--run-id',
      runId,
      '--repo-dir',
      checkout,
    );
    expect(exitCode).to.equal(3);
    expect(stdout).to.equal('');
    expect(stderr)
      .to.contain('nothing is approved, and the gate build waits for approval')
      .and.to.match(/approve run_[0-9a-f-]{13} --gate build/);
    expect(await place.git('-C', checkout, 'branch', '--list', 'core/*')).to.equal('');
  });

  it('decides nothing without a selection, and says how to say it', async () => {
    const { exitCode, stderr } = await place.core('approve', runId);
    expect(exitCode).to.equal(2);
    expect(stderr).to.contain('--gate build').and.to.contain('--all');
  });

  it('wants a reason for a rejection', async () => {
    const { exitCode, stderr } = await place.core('reject', runId, '7');
    expect(exitCode).to.equal(2);
    expect(stderr).to.contain('reject needs --reason TEXT');
  });

  it('executes the gate build, which stays on this machine', async () => {
    const approved = await place.core('approve', runId, '--gate', 'build');
    expect(approved.stdout).to.match(/Approved 4 actions as \S+, expires in 7 days/);
    expect(approved.stdout).to.match(/1 {2}create_branch .* [0-9a-f]{12} /);
    const { exitCode, stdout, stderr } = await place.core('execute-approved', runId, '--repo-dir', checkout);
    expect(stderr).to.match(/commit +\w+, delivered as core\/1-/);
    expect(exitCode).to.equal(0);
    expect(stdout)
      .to.contain('awaiting_approval · publish waits')
      .and.to.match(/5 {2}push_branch +required +pending/)
      .and.not.to.match(/partially|refused|execute-approved/);
    expect((await place.core('runs')).stdout).to.match(/awaiting_approval .* publish /);
    const again = await place.core('execute-approved', runId, '--repo-dir', checkout);
    expect(again.exitCode).to.equal(3);
    expect(again.stderr).to.contain('--gate publish');
    expect(await place.git('-C', checkout, 'branch', '--list', 'core/*')).to.match(
      /core\/1-greeting-is-wrong/,
    );
    expect(await place.git('-C', checkout, 'ls-remote', 'origin', 'refs/heads/core/*')).to.equal('');
  });

  it('keeps a rejected action out when the rest of its gate is approved and executed', async () => {
    await place.core('reject', runId, 'comment_issue', '--reason', 'the pull request is enough');
    const { stdout } = await place.core('approve', runId, '--gate', 'publish');
    expect(stdout).to.contain('7 comment_issue stays rejected');
    const { exitCode } = await place.core('execute-approved', '--run-id', runId, '--repo-dir', checkout);
    expect(exitCode).to.equal(0);
    const run = JSON.parse((await place.core('show', runId, '--json')).stdout);
    expect(run.actions.map(({ state }: { state: string }) => state)).to.deep.equal([
      'succeeded',
      'succeeded',
      'succeeded',
      'succeeded',
      'succeeded',
      'succeeded',
      'refused',
    ]);
    const pulls = JSON.parse(
      (await place.core('forge', 'pr', 'list', ...demo, '--json')).stdout,
    ).pull_requests;
    expect(pulls).to.have.length(1);
    expect(pulls[0].body).to.contain(runId).and.to.contain('passed');
  });

  it('writes a recovery manifest with the identifiers of the version control', async () => {
    const manifest = JSON.parse((await place.core('show', runId, '--recovery', '--json')).stdout);
    expect(manifest).to.include({ run_id: runId, repo: 'demo/hello' });
    expect(manifest.vcs_change_id).to.be.a('string');
    expect(manifest.vcs_operation_id).to.be.a('string');
    expect(manifest.restore).to.not.be.empty;
  });

  it('verifies the record, and names what was changed in it', async () => {
    expect((await place.core('verify', runId)).exitCode).to.equal(0);
    const path = join(place.home, 'state/runs', runId, 'events.jsonl');
    const log = readFileSync(path, 'utf8');
    writeFileSync(path, log.replace('the pull request is enough', 'the pull request is ENOUGH'));
    const { exitCode, stdout } = await place.core('verify', runId);
    writeFileSync(path, log);
    expect(exitCode).to.equal(1);
    expect(stdout)
      .to.contain('does not hold')
      .and.to.match(/events\.jsonl|event \d+/);
  });

  it('undoes everything, after showing what it would do', async () => {
    const preview = await place.core('undo', runId, '--dry-run');
    expect(preview.stdout).to.contain('close #2');
    const { exitCode, stdout } = await place.core('undo', runId);
    expect(exitCode).to.equal(0);
    expect(stdout).to.contain('The run is undone.');
    expect(await place.git('-C', checkout, 'ls-remote', 'origin', 'refs/heads/core/*')).to.equal('');
    expect(await place.git('-C', checkout, 'branch', '--list', 'core/*')).to.equal('');
    const { pull_requests } = JSON.parse(
      (await place.core('forge', 'pr', 'list', ...demo, '--state', 'all', '--json')).stdout,
    );
    expect(pull_requests[0].state).to.equal('closed');
    expect((await place.core('verify', runId)).exitCode).to.equal(0);
  });

  it('shows the next planning of the issue why something was rejected', async () => {
    await place.core('plan-issue', ...demo, '--number', '1');
    const { runs } = JSON.parse((await place.core('runs', '--json', '--limit', '1')).stdout);
    const run = JSON.parse((await place.core('show', runs[0].run_id, '--json')).stdout);
    const kinds = run.plan.influences.map(({ kind }: { kind: string }) => kind);
    expect(kinds).to.include('rejection');
  });
});

import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  issueBody,
  issueTitle,
  makeDemoRepository,
} from '../../services/supervisor/quickstart/demo-repository.ts';
import { movedIssue } from '../fixtures/bridge/moved-issue.ts';
import { core, ended } from '../fixtures/world/core-command.ts';
import { describeWith } from '../needs.ts';
import { makePlace, type Place } from './core-process.ts';
import { type Stack, startStack } from './stack-process.ts';

const demo = ['--owner', 'demo', '--repo', 'hello'];

describeWith(['linux', 'time'], 'a run that was cut off, on a machine that was lost', () => {
  let place: Place;
  let stack: Stack;
  let checkout: string;
  let runId: string;
  let file: string;

  before(async () => {
    place = makePlace();
    checkout = join(place.folder, 'hello');
    await makeDemoRepository(checkout);
    await done('forge', 'init', ...demo, '--from', checkout);
    const remote = join(place.home, 'state/forge/demo/hello/repository.git');
    await place.git('-C', checkout, 'remote', 'add', 'origin', remote);
    writeFileSync(join(place.folder, 'issue.md'), issueBody);
    const issue = ['--title', issueTitle, '--body-file', join(place.folder, 'issue.md'), '--author', 'mira'];
    await done('forge', 'issue', 'new', ...demo, ...issue, '--association', 'contributor');
    // Some machines that run these tests have no sandbox; the demo is our own code.
    writeFileSync(join(place.home, 'config/validation.json'), '{"allow_unsandboxed": true}');
    stack = startStack(place.home);
    await stack.ready();
  });
  after(async () => {
    if (stack?.child.exitCode === null) await stack.end();
    place?.remove();
  });

  async function done(...args: readonly string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await place.core(...args);
    expect(exitCode, `${args.join(' ')}\n${stdout}\n${stderr}`).to.equal(0);
    return stdout;
  }

  const shown = async () => JSON.parse(await done('show', runId, '--json'));

  async function postEvent(): Promise<void> {
    const tokens = join(place.home, 'config/tokens');
    const own = readdirSync(tokens).find((name) => /^(?!bridge|worker|agentd).*\.token$/.test(name))!;
    const answer = await fetch(`${stack.url('core-bridge')}/v1/ingress/dashboard-issue`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${readFileSync(join(tokens, own), 'utf8').trim()}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(movedIssue({ name: 'local', owner: 'demo', repo: 'hello' })),
    });
    expect(answer.status).to.equal(202);
  }

  it('is backed up while the services run', async () => {
    await done('context', 'remember', 'strangers are greeted warmly', '--kind', 'decision');
    await postEvent();
    await done('plan-issue', ...demo, '--number', '1');
    runId = JSON.parse(await done('runs', '--json')).runs[0].run_id;
    await done('approve', runId, '--all');
    const execute = ['execute-approved', runId, '--repo-dir', checkout, '--home', place.home];
    const { signal, stderr } = await ended(core, execute, { CORE_CRASH_AT: 'commit.delivered' });
    expect(signal, stderr).to.equal('SIGKILL');
    const report = JSON.parse(await done('backup', place.folder, '--json'));
    file = report.file;
    expect(report.manifest.counts).to.include({ repositories: 1 });
    expect(report.manifest.counts.stores, 'outbox, record, ledger, queue, triggers').to.be.at.least(5);
    expect(await done('backup', 'verify', file)).to.contain(`${file} holds: `);
    const refused = await place.core('restore', file);
    expect(refused.exitCode).to.equal(3);
    expect(refused.stderr).to.match(/is in use by core up, process \d+ on .*\[restore_in_use\]/);
  });

  it('is restored into an empty folder, where it goes on to its pull request', async () => {
    await stack.end();
    renameSync(place.home, `${place.home}.lost`);
    expect(await done('restore', file)).to.contain(`Restored ${join(place.home, 'state')} and `);
    expect((await shown()).status).to.equal('interrupted');
    stack = startStack(place.home);
    await stack.ready();
    const refused = await place.core('resume', runId);
    expect(refused.exitCode, refused.stderr).to.equal(3);
    expect(refused.stderr).to.contain('of today is another one; approve it again');
    await done('approve', runId, '--all');
    await done('resume', runId);
    const run = await shown();
    expect(run.status).to.equal('completed');
    const { pull_requests } = JSON.parse(await done('forge', 'pr', 'list', ...demo, '--json'));
    expect(pull_requests).to.have.length(1);
    expect(pull_requests[0].body).to.contain(runId);
    expect(await done('verify', runId)).to.contain('holds');
    const refs = await place.git('-C', checkout, 'ls-remote', 'origin', 'refs/heads/core/*');
    expect(refs.split('\t')[0]).to.equal(await place.git('-C', checkout, 'rev-parse', refs.split('\t')[1]!));
  });

  it('finds what was remembered, and the event that waited', async () => {
    expect(await done('context', 'lookup', 'strangers greeted')).to.contain('strangers are greeted warmly');
    const answer = await fetch(`${stack.url('core-bridge')}/v1/events/pending`);
    expect(await answer.text()).to.contain('board-17-moved-3');
  });

  it('can still be taken back', async () => {
    await done('undo', runId, '--yes');
    expect((await shown()).status).to.equal('undone');
    expect(await place.git('-C', checkout, 'ls-remote', 'origin', 'refs/heads/core/*')).to.equal('');
  });
});

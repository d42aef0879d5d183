import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect } from 'chai';
import { runStoreIn } from '../../../test/fixtures/runs/run-store-in.ts';
import { sampleRun } from '../../../test/fixtures/runs/sample-run.ts';
import { openServices } from '../main.ts';
import { executorLease } from '../runs/run-store.ts';
import { runCommandLine } from './command-line.ts';

describe('the command line', () => {
  let home: string;
  before(() => {
    home = mkdtempSync(join(tmpdir(), 'core-cli-'));
  });
  after(() => rmSync(home, { recursive: true, force: true }));

  const wrong: [string[], RegExp][] = [
    [['plan-issue', '--owner', 'demo', '--repo', 'hello'], /--number <n>' not specified/],
    [
      ['plan-issue', '--owner', 'demo', '--repo', 'hello', '--number', '0'],
      /--number '0'.*from 1 to 2147483647/,
    ],
    [['plan-issue', '--owner', 'demo', '--repo', 'hello', '--number', '1e3'], /--number '1e3'/],
    [['plan-issue', '--owner', 'demo', '--repo', 'hello', '--number', '99999999999'], /from 1 to 2147483647/],
    [['plan-issue', '--owner', ' ', '--repo', 'hello', '--number', '1'], /--owner ' ' must be/],
    [['runs', '--limit', '101'], /--limit is "101".*from 1 to 100/],
    [['runs', '--status', 'done'], /--status 'done' must be one of planning, awaiting_approval/],
    [['prune', '--older-than', '30'], /--older-than '30'.*for example 30d/],
    [['approve', '--gate', 'both', 'run_1'], /--gate 'both' must be one of build, publish/],
    [['show'], /show needs a run/],
    [['show', 'a', '--run-id', 'b'], /names two runs, 'a' and 'b'/],
    [['undo', 'a', 'b'], /too many arguments/],
    [['plan-issue', '--numbr', '1'], /unknown option '--numbr'.*Did you mean --number/],
    [['plan-issue', '--repo', 'hello'], /'--owner <name>', '--number <n>' not specified/],
    [['plan-isue'], /Did you mean .*plan-issue\?/],
    [['runs', '--jsn'], /unknown option '--jsn'.*Did you mean --json\?/],
  ];
  for (const [args, message] of wrong) {
    it(`answers '${args.join(' ')}' with exit code 2 and what was wrong`, async () => {
      const { exitCode, stdout, stderr } = await run(...args);
      expect(stderr).to.match(message);
      expect(stderr.split('\n')[0]).to.match(/^error {2}/);
      expect(stdout).to.equal('');
      expect(exitCode).to.equal(2);
    });
  }

  it('answers a run that does not exist with exit code 4', async () => {
    const { exitCode, stderr } = await run('show', 'run_0199');
    expect(stderr).to.contain('run_0199').and.to.contain('[run_not_found]');
    expect(exitCode).to.equal(4);
  });

  it('reports a failure to machines as JSON with a stable code', async () => {
    const { exitCode, stderr } = await run('show', 'run_0199', '--json');
    const { error } = JSON.parse(stderr);
    expect(error).to.include({ code: 'run_not_found', exit_code: 4 });
    expect(exitCode).to.equal(4);
  });

  it('says how to stop a run that is at work elsewhere', async () => {
    const store = runStoreIn(join(home, 'busy', 'state'));
    const { run_id } = await store.create(sampleRun().request);
    const lease = await store.lease(executorLease(run_id));
    const { exitCode, stderr } = await run('resume', run_id, '--home', join(home, 'busy'));
    lease.release();
    store.close();
    expect(stderr)
      .to.contain('[lease_held]')
      .and.to.contain(`./core cancel ${run_id.slice(0, 17)} --home`);
    expect(exitCode).to.equal(3);
  });

  it('lists no runs as an empty list', async () => {
    const { exitCode, stdout } = await run('runs', '--json');
    expect(JSON.parse(stdout)).to.deep.include({ runs: [], next_cursor: null });
    expect(exitCode).to.equal(0);
  });

  it('shows every setting with its origin', async () => {
    const { stdout } = await run('config', 'show', '--json');
    const rows: { key: string; source: string }[] = JSON.parse(stdout);
    expect(rows.find(({ key }) => key === 'folder.state')).to.include({ source: 'flag', where: '--home' });
    expect(rows.find(({ key }) => key === 'agentd.port')).to.include({ source: 'default' });
    for (const concern of ['forges', 'agents', 'policy', 'validation'])
      expect(rows.some(({ key }) => key.startsWith(`${concern}.`))).to.equal(true);
  });

  it('names the file of a value that the user changed', async () => {
    const path = join(home, 'config', 'policy.json');
    mkdirSync(join(home, 'config'), { recursive: true });
    writeFileSync(path, '{"approval":{"expires_after_days":3}}');
    const { stdout } = await run('config', 'show', '--json');
    rmSync(path);
    const rows: { key: string }[] = JSON.parse(stdout);
    const row = rows.find(({ key }) => key === 'policy.approval.expires_after_days');
    expect(row).to.deep.include({ value: 3, source: 'user', where: path });
  });

  it('makes no folder to look at runs', async () => {
    const absent = join(home, 'absent');
    for (const args of [['runs'], ['show', 'run_0199']]) await run(...args, '--home', absent);
    expect(existsSync(absent)).to.equal(false);
  });

  it('says how it is used when it is called with nothing', async () => {
    const { exitCode, stderr } = await run();
    expect(stderr).to.contain('plan-issue');
    expect(exitCode).to.equal(2);
  });

  it('shows the commands of a group that is called alone', async () => {
    const { exitCode, stderr } = await run('forge');
    expect(stderr).to.contain('init').and.to.contain('issue').and.to.contain('pr');
    expect(exitCode).to.equal(2);
  });

  async function run(...args: string[]) {
    const out = sink();
    const err = sink();
    const exitCode = await runCommandLine({
      args: args.length === 0 ? [] : ['--home', home, ...args],
      program: './core',
      version: '0.0.0',
      stdout: out.stream,
      stderr: err.stream,
      open: openServices,
    });
    return { exitCode, stdout: out.text(), stderr: err.text() };
  }
});

function sink() {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}

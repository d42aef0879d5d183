import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  issueBody,
  issueTitle,
  makeDemoRepository,
} from '../../services/supervisor/quickstart/demo-repository.ts';
import { core } from '../fixtures/world/core-command.ts';
import { makePlace, type Place, run } from './core-process.ts';

describe('the first steps with core', () => {
  let place: Place;
  let checkout: string;

  before(async () => {
    place = makePlace();
    checkout = join(place.folder, 'it is mine');
    await makeDemoRepository(checkout);
    mkdirSync(join(place.folder, 'beside'));
    writeFileSync(join(place.home, 'config/validation.json'), '{"allow_unsandboxed": true}');
  });
  after(() => place.remove());

  for (const [repo, from, folder] of [
    ['here', '.', 'it is mine'],
    ['below', 'it is mine', '.'],
    ['beside', '../it is mine', 'beside'],
  ] as const) {
    it(`takes --from ${from} from the folder in which it is typed, and says how to connect it`, async () => {
      const cwd = join(place.folder, folder);
      const ref = ['--owner', 'demo', '--repo', repo, '--home', place.home];
      const made = await run(core, ['forge', 'init', ...ref, '--from', from], cwd);
      expect(made.exitCode, made.stderr).to.equal(0);
      const bare = join(place.home, `state/forge/demo/${repo}/repository.git`);
      expect(await place.git('-C', bare, 'log', '--format=%s')).to.equal('Greet people by name');
      expect(made.stdout).to.contain(`git -C '${checkout}' remote add core ${bare}`);
    });
  }

  it('shows why a validation failed, where the whole log is, and what to do', async () => {
    const ref = ['--owner', 'demo', '--repo', 'failing'];
    await place.core('forge', 'init', ...ref, '--from', checkout);
    const bare = join(place.home, 'state/forge/demo/failing/repository.git');
    await place.git('-C', checkout, 'remote', 'add', 'core', bare);
    const body = issueBody.replace("'stranger' : known", "'nobody' : known");
    await place.core(
      'forge',
      'issue',
      'new',
      ...ref,
      '--title',
      issueTitle,
      '--body',
      body,
      '--author',
      'mira',
    );
    await place.core('plan-issue', ...ref, '--number', '1');
    const { run_id } = JSON.parse((await place.core('runs', '--json')).stdout).runs[0];
    await place.core('approve', run_id, '--gate', 'build');
    const executed = await place.core('execute-approved', run_id, '--repo-dir', checkout);
    expect(executed.exitCode, executed.stderr).to.equal(1);
    const { stdout: shown } = await place.core('show', run_id);
    const { stdout: action } = await place.core('actions', run_id, '3');
    for (const text of [executed.stdout, shown, action]) {
      expect(text).to.match(/ {2}\| .*stranger/);
      const path = /whole log {2}(.*)/.exec(text)?.[1] ?? '';
      expect(readFileSync(path, 'utf8')).to.contain('Hello, nobody!');
    }
    expect(shown)
      .to.contain('plan again')
      .and.to.match(/core'? diff run_/);
    expect(shown).to.not.match(/core'? (approve|execute-approved) /);
  });

  it('ends quietly when nobody reads on, and says in one line that the disk is full', async () => {
    const quiet = await run(
      'sh',
      ['-c', `'${core}' --help | true; '${core}' runs --home '${place.home}' | true`],
      '.',
    );
    expect(quiet.stderr).to.equal('');
    for (const words of ['runs', '--help']) {
      const full = await run('sh', ['-c', `'${core}' ${words} --home '${place.home}' >/dev/full`], '.');
      expect(full.stderr).to.match(/^error {2}standard output cannot be written: .*ENOSPC.*\n$/);
      expect(full.exitCode).to.equal(1);
    }
  });

  it('does not know help about a command that is none', async () => {
    const { exitCode, stdout, stderr } = await run(core, ['help', 'nope'], '.');
    expect(stderr).to.contain("unknown command 'nope'");
    expect(stdout).to.equal('');
    expect(exitCode).to.equal(2);
  });
});

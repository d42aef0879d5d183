import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { nodeFlags } from '#kit/node-flags.ts';
import {
  issueBody,
  issueTitle,
  makeDemoRepository,
} from '../../services/supervisor/quickstart/demo-repository.ts';
import { useCommandHost } from '../fixtures/world/command-host.ts';
import { makePlace, type Place } from './core-process.ts';

describe('core and bad input', () => {
  const host = useCommandHost({});
  const demo = ['--owner', 'demo', '--repo', 'hello'];
  let place: Place;
  let checkout: string;
  let planned: string;

  before(async () => {
    place = makePlace(host);
    checkout = join(place.folder, 'hello');
    await makeDemoRepository(checkout);
    writeFileSync(join(place.home, 'config/validation.json'), '{"allow_unsandboxed": true}');
    await place.core('forge', 'init', ...demo, '--from', checkout);
    await newIssue(issueTitle, issueBody);
    await place.core('plan-issue', ...demo, '--number', '1');
    planned = JSON.parse((await place.core('runs', '--json')).stdout).runs[0].run_id;
    await place.core('approve', planned, '--gate', 'build');
  });
  after(() => place.remove());

  it('answers an unknown owner, repository, issue, forge, role and run with what was asked', async () => {
    const asked: [string[], number, string][] = [
      [['plan-issue', '--owner', 'nobody', '--repo', 'hello', '--number', '1'], 4, 'repository_not_found'],
      [['plan-issue', '--owner', 'demo', '--repo', 'nothing', '--number', '1'], 4, 'repository_not_found'],
      [['plan-issue', '--owner', '../x', '--repo', 'hello', '--number', '1'], 2, 'invalid_owner_name'],
      [['plan-issue', ...demo, '--number', '99'], 4, 'issue_not_found'],
      [['plan-issue', ...demo, '--number', '1', '--forge', 'gitlab'], 4, 'forge_not_found'],
      [['plan-issue', ...demo, '--number', '1', '--role', 'Wizard'], 2, 'role_unknown'],
      [['show', 'run_ffffffff'], 4, 'run_not_found'],
      [['show', '../../etc'], 2, 'invalid_run_id'],
      [['approve', planned, '99'], 4, 'action_not_found'],
      [['forge', 'init', ...demo], 3, 'repository_exists'],
      [['undo', planned], 3, 'nothing_to_undo'],
      [['resume', planned], 3, 'nothing_to_resume'],
    ];
    for (const [args, exitCode, code] of asked) {
      const said = await place.core(...args, '--json');
      const { error } = JSON.parse(said.stderr.trim().split('\n').at(-1)!);
      expect(error.code, args.join(' ')).to.equal(code);
      expect(said.exitCode, args.join(' ')).to.equal(exitCode);
    }
  });

  it('points from wrong usage to the help of the command that was meant, and from a mistyped name to the right one', async () => {
    const typed: Readonly<Record<string, readonly [message: string, help: string]>> = {
      statsu: ["unknown command 'statsu'. Did you mean status?", 'core --help'],
      'contxt search x': ["unknown command 'contxt'. Did you mean context?", 'core --help'],
      frobnicate: ["unknown command 'frobnicate'", 'core --help'],
      'forge pr lst': ["unknown command 'lst'. Did you mean list?", 'core forge pr --help'],
      'forge pr show 9': ["too many arguments for 'show'", 'core forge pr show --help'],
      'context serach x': ["unknown command 'serach'. Did you mean search?", 'core context --help'],
      'doctor x': ["too many arguments for 'doctor'", 'core doctor --help'],
      completion: ['missing required argument', 'core completion --help'],
    };
    for (const [words, [message, help]] of Object.entries(typed)) {
      const { exitCode, stderr } = await place.core(...words.split(' '));
      expect(stderr.replaceAll(/\s+/g, ' '), words).to.contain(message);
      expect(stderr.trimEnd(), words).to.match(new RegExp(`do {2}.*${help.replace('core', "core'?")}$`));
      expect(exitCode, words).to.equal(2);
    }
  });

  it('says what to do about an action that is not there, and about a text that cannot be read', async () => {
    const action = await place.core('approve', planned, '99');
    expect(action.stderr).to.match(/do {2}To look at them:\n +.*core'? actions run_/);
    const missing = join(place.folder, 'no-such-body.md');
    const body = await place.core('forge', 'issue', 'new', ...demo, '--title', 'x', '--body-file', missing);
    expect(body.stderr).to.contain('no such file').and.to.contain('or - to read it from standard input');
    expect(body.exitCode).to.equal(2);
  });

  it('asks instead of planning where no patch applies, and names the block', async () => {
    const evil = ['--- a/x', '+++ b/../../outside', '@@ -0,0 +1 @@', '+x'].join('\n');
    const number = await newIssue('Escape', `\`\`\`diff\n${evil}\n\`\`\`\n`);
    const { exitCode, stdout } = await place.core(
      'plan-issue',
      ...demo,
      '--number',
      String(number),
      '--json',
    );
    expect(exitCode).to.equal(0);
    const run = JSON.parse(stdout);
    expect(run.actions.map(({ kind }: { kind: string }) => kind)).to.deep.equal(['comment_issue']);
    expect(readdirSync(place.folder)).to.not.include('outside');
  });

  it('refuses an issue text that is too large', async () => {
    const file = join(place.folder, 'large.md');
    writeFileSync(file, 'x'.repeat(2_000_000));
    const made = await place.core(
      'forge',
      'issue',
      'new',
      ...demo,
      '--title',
      'Large',
      '--body-file',
      file,
      '--author',
      'mira',
      '--json',
    );
    const { number } = JSON.parse(made.stdout);
    const { exitCode, stderr } = await place.core('plan-issue', ...demo, '--number', String(number));
    expect(stderr).to.contain('[issue_too_large]');
    expect(exitCode).to.equal(2);
  });

  it('refuses a repository without a commit', async () => {
    const ref = ['--owner', 'demo', '--repo', 'empty'];
    await place.core('forge', 'init', ...ref);
    await place.core('forge', 'issue', 'new', ...ref, '--title', 'T', '--author', 'mira');
    const { exitCode, stderr } = await place.core('plan-issue', ...ref, '--number', '1');
    expect(stderr).to.contain('[repository_empty]');
    expect(exitCode).to.equal(3);
  });

  it('refuses a checkout that is no repository, or of another one, and leaves it as it was', async () => {
    const other = join(place.folder, 'other');
    await makeDemoRepository(other);
    await place.git('-C', other, 'remote', 'add', 'origin', 'https://example.org/else/where.git');
    for (const [folder, code] of [
      [place.folder, 'not_a_repository'],
      [join(place.folder, 'absent'), 'checkout_not_found'],
      [other, 'remote_mismatch'],
    ] as const) {
      const { exitCode, stdout, stderr } = await place.core(
        'execute-approved',
        planned,
        '--repo-dir',
        folder,
      );
      expect(`${stdout}${stderr}`, folder).to.match(
        code === 'remote_mismatch' ? /remote/ : /repository|checkout|folder/,
      );
      const expected = folder.endsWith('absent') ? 4 : 3;
      expect(exitCode, `${folder}: ${stdout}${stderr}`).to.equal(expected);
      if (code === 'remote_mismatch') expect(stderr).to.contain(`git -C ${other} remote add core /`);
    }
    expect(await place.git('-C', other, 'status', '--porcelain')).to.equal('');
    expect(await place.git('-C', other, 'branch', '--list', 'core/*')).to.equal('');
  });

  it('lists the runs whatever lies among their folders', async () => {
    writeFileSync(join(place.home, 'state/runs/notes.txt'), 'mine');
    mkdirSync(join(place.home, 'state/runs/run_x'));
    const { exitCode, stdout } = await place.core('runs');
    expect(exitCode).to.equal(0);
    expect(stdout).to.contain(planned.slice(0, 17)).and.to.not.contain('notes.txt');
  });

  it('says which folder it cannot write to', async () => {
    const file = join(place.folder, 'a-file');
    writeFileSync(file, '');
    const { exitCode, stderr } = await place.coreAt(file, 'forge', 'init', ...demo);
    expect(stderr).to.contain(file);
    expect(exitCode).to.be.greaterThan(0);
  });

  it('says which file of the configuration is wrong, where, and what it may be', async () => {
    const home = join(place.folder, 'broken');
    mkdirSync(join(home, 'config'), { recursive: true });
    writeFileSync(join(home, 'config/core.json'), '{"vcs": "svn"}');
    const { exitCode, stderr } = await place.coreAt(home, 'config', 'show');
    expect(stderr).to.contain('/vcs').and.to.contain('auto').and.to.contain('jj').and.to.contain('git');
    expect(exitCode).to.equal(2);
  });

  it('ends quietly when nobody reads on', async () => {
    const dispatcher = fileURLToPath(new URL('../../services/supervisor/start.js', import.meta.url));
    const child = spawn(process.execPath, [...nodeFlags, dispatcher, 'diff', planned, '--home', place.home], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.destroy();
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const exitCode = await new Promise((resolve) => child.on('close', resolve));
    expect(said).to.equal('');
    expect(exitCode).to.equal(0);
  });

  async function newIssue(title: string, body: string): Promise<number> {
    const words = ['--title', title, '--body', body, '--author', 'mira', '--association', 'contributor'];
    return JSON.parse((await place.core('forge', 'issue', 'new', ...demo, ...words, '--json')).stdout).number;
  }
});

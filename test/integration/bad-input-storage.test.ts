import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Run } from '../../services/agentd/runs/run.ts';
import { tamper } from '../fixtures/runs/tamper.ts';
import { differences, fingerprint } from '../fixtures/world/fingerprint.ts';
import { type OwnMounts, readOnlyState, smallDisk } from '../fixtures/world/own-mounts.ts';
import { allowUnsandboxed, expectVerified } from '../fixtures/world/place.ts';
import { everybody, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

const issue = ['--owner', ref.owner, '--repo', ref.repo, '--number', '1'];

/** KiB that are left when the work begins; each ends it somewhere else. */
const room = {
  git: [0, 40, 60, 76, 84, 100, 120],
  jj: [0, 60, 140, 260, 324, 400],
} as const;

for (const vcs of ['git', 'jj'] as const) {
  describeWith(['mounts', vcs, 'time'], `a full disk, with ${vcs}`, () => {
    let world: World;
    let run: Run;
    let disk: OwnMounts | undefined;

    before(async () => {
      world = await makeWorld({ vcs });
      allowUnsandboxed(world);
      run = await world.plannedAndApproved();
      await world.close();
    });
    beforeEach(async () => {
      disk = await smallDisk(world.home, 24);
    });
    afterEach(() => disk?.close());

    for (const kib of room[vcs]) {
      it(`executes nothing by half with ${kib} KiB left, and all of it when there is room`, async () => {
        const { command, state, fill, free } = disk!;
        const before = fingerprint(world.checkout.dir);
        const index = readdirSync(join(world.checkout.gitDir)).sort();
        fill(kib * 1024);
        const stopped = await command(['execute-approved', run.run_id, '--repo-dir', world.checkout.dir]);
        expect(stopped.stderr).to.match(/disk is full|no room left|No space left/);
        expect(stopped.stderr).to.not.contain('not foreseen');
        expect(stopped.code).to.equal(1);
        free();
        expect((await command(['verify', run.run_id])).code).to.equal(0);
        const { status } = JSON.parse((await command(['show', run.run_id, '--json'])).stdout);
        const goOn =
          status === 'interrupted'
            ? ['resume', run.run_id]
            : ['execute-approved', run.run_id, '--repo-dir', world.checkout.dir];
        const done = await command(goOn);
        expect(done.code, done.stderr).to.equal(0);
        const forge = join(state, 'forge', ref.owner, ref.repo);
        expect(readdirSync(join(forge, 'pulls'))).to.have.length(1);
        expect(readdirSync(join(forge, 'comments/1'))).to.have.length(1);
        expect(readdirSync(join(forge, 'repository.git/refs/heads/core'))).to.have.length(1);
        expect((await command(['verify', run.run_id])).code).to.equal(0);
        const undone = await command(['undo', run.run_id]);
        expect(undone.code, undone.stderr).to.equal(0);
        const changes = differences(before, fingerprint(world.checkout.dir));
        expect(changes.filter((line) => !/^\+ \.git\/(objects|refs\/heads\/core$)/.test(line))).to.deep.equal(
          [],
        );
        expect(readdirSync(world.checkout.gitDir).sort()).to.deep.equal(index);
      });
    }

    it('plans nothing by half, and plans again when there is room', async () => {
      const { command, fill, free } = disk!;
      for (const kib of [0, 36, 44, 60, 80]) {
        fill(kib * 1024);
        const failed = await command(['plan-issue', ...issue]);
        free();
        expect(failed.stderr, `${kib} KiB`).to.match(/disk is full|no room left/);
        expect(failed.code).to.equal(1);
      }
      expect((await command(['plan-issue', ...issue])).code).to.equal(0);
      const { runs } = JSON.parse((await command(['runs', '--json'])).stdout);
      for (const { run_id } of runs) expect((await command(['verify', run_id])).code).to.equal(0);
    });

    it('records a decision whole or not at all', async () => {
      const { command, fill, free } = disk!;
      for (const kib of [0, 40, 48]) {
        fill(kib * 1024);
        const rejected = await command(['reject', run.run_id, 'comment_issue', '--reason', 'not now']);
        free();
        const { actions } = JSON.parse((await command(['show', run.run_id, '--json'])).stdout);
        expect(actions.at(-1).approval, `${kib} KiB: ${rejected.stderr}`).to.equal(
          rejected.code === 0 ? 'rejected' : 'approved',
        );
        expect((await command(['verify', run.run_id])).code).to.equal(0);
        expect((await command(['approve', run.run_id, 'comment_issue'])).code).to.equal(0);
      }
    });
  });
}

describeWith(['mounts'], 'a state folder that cannot be written', () => {
  let world: World;
  let run: Run;
  let mounts: OwnMounts | undefined;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
    run = await world.plannedAndApproved();
    await world.close();
    mounts = await readOnlyState(world.home);
  });
  after(() => mounts?.close());

  it('is named, with what to do, and nothing is changed anywhere', async () => {
    const before = fingerprint(world.home);
    const checkout = fingerprint(world.checkout.dir);
    for (const args of [
      ['plan-issue', ...issue],
      ['approve', run.run_id, '--all'],
      ['execute-approved', run.run_id, '--repo-dir', world.checkout.dir],
      ['undo', run.run_id],
      ['runs'],
      ['forge', 'issue', 'new', '--owner', ref.owner, '--repo', ref.repo, '--title', 'T', '--author', 'mira'],
    ]) {
      const { code, stderr } = await mounts!.command(args);
      expect(stderr, args[0]).to.match(/not writable|cannot write|nothing_to_undo/);
      expect(stderr, args[0]).to.not.contain('not foreseen');
      expect(code, args[0]).to.be.oneOf([1, 3]);
    }
    expect(differences(checkout, fingerprint(world.checkout.dir))).to.deep.equal([]);
    const changed = differences(before, fingerprint(world.home));
    expect(changed.filter((line) => !/ config(\/|$)/.test(line))).to.deep.equal([]);
  });
});

describe('what does not belong among the runs', () => {
  let world: World;
  let run: Run;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    run = await world.plannedAndApproved();
  });
  after(() => world?.close());

  it('is not a run, stays unchanged, and hides no run', async () => {
    const runs = join(world.home, 'state/runs');
    const named = (last: string) => `run_0199f3c2-0000-7000-8000-00000000000${last}`;
    writeFileSync(join(runs, 'notes.txt'), 'mine\n');
    writeFileSync(join(runs, 'line\nbreak \u001b[31m'), 'mine\n');
    writeFileSync(join(runs, named('1')), 'a file\n');
    mkdirSync(join(runs, named('2')));
    symlinkSync('/', join(runs, named('3')));
    mkdirSync(join(runs, named('4'), 'events.jsonl'), { recursive: true });
    mkdirSync(join(runs, named('5')));
    execFileSync('mkfifo', [join(runs, named('5'), 'events.jsonl')]);
    mkdirSync(join(runs, named('6')));
    symlinkSync('/dev/zero', join(runs, named('6'), 'events.jsonl'));
    mkdirSync(join(runs, named('7')));
    writeFileSync(join(runs, named('7'), 'events.jsonl'), '{"seq":1}\n');
    mkdirSync(join(runs, named('8')));
    writeFileSync(join(runs, named('8'), 'events.jsonl'), '');
    cpSync(join(runs, run.run_id), join(runs, named('9')), { recursive: true });
    const before = readdirSync(runs).sort();

    const listed = await world.command(['runs']);
    expect(listed.code, listed.stderr).to.equal(0);
    expect(listed.stdout).to.contain(run.run_id.slice(0, 17));
    for (const last of ['1', '2', '3', '4', '5', '6', '7', '8']) {
      for (const command of ['show', 'verify', 'undo']) {
        const { code, stderr, stdout } = await world.command([command, named(last)]);
        expect(code, `${command} ${last}: ${stderr}${stdout}`).to.be.oneOf([1, 4]);
        expect(stderr, `${command} ${last}`).to.not.contain('not foreseen');
      }
    }
    expect(readdirSync(runs).sort()).to.deep.equal(before);
    for (const name of before) if (name !== run.run_id) rmSync(join(runs, name), { recursive: true });
    await expectVerified(world, run);
  });

  it('is not followed out of a run: artifacts are read by their digest alone', async () => {
    for (const digest of ['../events.jsonl', '/etc/passwd', 'x', '0'.repeat(64)]) {
      let code = 'none';
      try {
        await world.agent.artifact(run.run_id, digest);
      } catch (error) {
        code = (error as { code: string }).code;
      }
      expect(code, digest).to.match(/artifact|digest|invalid/);
    }
    const scratch = join(world.home, 'state/scratch', run.run_id);
    expect(existsSync(scratch)).to.equal(false);
  });

  it('may be a run of somebody else: what was changed is named, and nothing of it is executed', async () => {
    const { run_id } = await world.plannedAndApproved();
    const state = join(world.home, 'state');
    const change = (from: string, to: string) =>
      tamper(
        state,
        'UPDATE run_events SET line = replace(line, ?, ?) WHERE run_id = ? AND instr(line, ?) > 0',
        ...[from, to, run_id, from],
      );
    expect(change('"branch":"core/', '"branch":"main/')).to.be.at.least(1);
    const before = fingerprint(world.checkout.dir);
    const { code, stderr } = await world.command([
      'execute-approved',
      run_id,
      '--repo-dir',
      world.checkout.dir,
    ]);
    expect(stderr)
      .to.contain('[run_damaged]')
      .and.to.match(/event \d+/);
    expect(code).to.equal(1);
    expect(differences(before, fingerprint(world.checkout.dir))).to.deep.equal([]);
    expect(world.remote.git('for-each-ref', '--format=%(refname)', 'refs/heads')).to.equal('refs/heads/main');
    const verified = await world.command(['verify', run_id]);
    expect(verified.code).to.equal(1);
    change('"branch":"main/', '"branch":"core/');
    const executed = await world.agent.execute(
      { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: true, by: everybody },
      quiet,
    );
    expect(executed.run_id).to.equal(run_id);
  });
});

import { execFile, spawn } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { childEnvironment } from '#kit/environment.ts';
import { git } from '#kit/git/git.ts';
import { identify } from '#kit/storage/process-identity.ts';
import { remoteBranch } from '../../services/agentd/git/remote.ts';
import type { Vcs, Workspace } from '../../services/agentd/ports/vcs.ts';
import { startGitServer } from '../fixtures/forges/git-server.ts';
import { makeBareRepository, makeRepository, repositoryAt } from '../fixtures/repositories/repository.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { itWith } from '../needs.ts';
import { branch, makeScene, publication, type Scene, steps } from './vcs-scene.ts';

/** What every adapter of the Vcs port keeps. */
export function vcsContract(vcs: Vcs, crashPoints: readonly string[]): void {
  const clone = ({ clone_dir }: Workspace) => repositoryAt(clone_dir, join(clone_dir, '.git'));

  async function buildAll({ workspace, tree }: Scene): Promise<string> {
    for (const step of steps(tree)) await vcs.build(workspace, step);
    return (await vcs.inspect(workspace, branch)).commit!;
  }

  async function built(): Promise<Scene & { commit: string; origin: string }> {
    const scene = await makeScene();
    const { operation_id } = await vcs.open(scene.workspace);
    return { ...scene, origin: operation_id, commit: await buildAll(scene) };
  }

  /** The files as they lie there, hashed as they are, equal the tree; a bare clone has none. */
  async function expectOnDisk({ workspace }: Scene, tree: string): Promise<void> {
    if (clone(workspace).git('config', 'core.bare') === 'true') {
      expect(readdirSync(workspace.clone_dir)).to.deep.equal(['.git']);
      return;
    }
    const other = makeRepository();
    const env = { GIT_WORK_TREE: workspace.clone_dir, GIT_INDEX_FILE: join(other.dir, 'index') };
    writeFileSync(join(other.gitDir, 'info', 'attributes'), '* -text -filter -ident\n');
    writeFileSync(join(other.gitDir, 'info', 'exclude'), '.jj\n');
    await git(['add', '-A', '-f', '--', '.', ':!.jj'], {
      gitDir: other.gitDir,
      cwd: workspace.clone_dir,
      env,
    });
    const { stdout } = await git(['write-tree'], { gitDir: other.gitDir, env });
    expect(stdout.toString().trim()).to.equal(tree);
  }

  async function codeOf(work: Promise<unknown>): Promise<string> {
    return work.then(
      () => 'nothing',
      (error) => error.code,
    );
  }

  it('says which version works here', async () => {
    expect((await vcs.version()).version).to.match(/^\d+\.\d+/);
  });

  it('makes a clone of its own, with the base, the remote and no branch', async () => {
    const { workspace, remote } = await makeScene();
    const state = await vcs.open(workspace);
    expect(state).to.include({ commit: null, change_id: null, tree: null });
    expect(state.operation_id).to.match(/^[0-9a-f]{40,}$/);
    rmSync(workspace.mirror_dir, { recursive: true });
    expect(clone(workspace).git('cat-file', '-p', `${workspace.base_commit}:README.md`)).to.equal('hello');
    expect(clone(workspace).git('remote', 'get-url', 'origin')).to.equal(remote.dir);
    expect(clone(workspace).git('rev-parse', 'refs/remotes/origin/main')).to.equal(workspace.base_commit);
    expect(await vcs.open(workspace)).to.deep.equal(state);
  });

  it('builds the approved tree, byte for byte, in the objects and on disk', async () => {
    const scene = await makeScene();
    await vcs.open(scene.workspace);
    const [create, apply, commit] = steps(scene.tree);
    const first = await vcs.build(scene.workspace, create);
    await expectOnDisk(scene, first.tree!);
    const second = await vcs.build(scene.workspace, apply);
    expect(second.tree).to.equal(scene.tree);
    await expectOnDisk(scene, scene.tree);
    const third = await vcs.build(scene.workspace, commit);
    expect(third).to.include({ tree: scene.tree, change_id: first.change_id });
    expect(third.change_id).to.match(/^[k-z]{32}$/);
    const operations = [first, second, third].map(({ operation_id }) => operation_id);
    expect(new Set(operations).size).to.equal(3);
    const { git: show } = clone(scene.workspace);
    expect(show('log', '-1', '--format=%an <%ae> %cn %ct%n%P%n%B', branch)).to.equal(
      [
        'Mira Ünal <mira@example.org> Mira Ünal 1772438402',
        scene.workspace.base_commit,
        'Greet strangers (#1)\n\nWith "quotes" and ümlauts.',
      ].join('\n'),
    );
    await expectOnDisk(scene, scene.tree);
  });

  it('makes the same commit again in another clone', async () => {
    const scene = await built();
    rmSync(scene.workspace.clone_dir, { recursive: true });
    expect((await vcs.open(scene.workspace)).commit).to.equal(null);
    expect(await buildAll(scene)).to.equal(scene.commit);
  });

  it('changes nothing when a step is done again', async () => {
    const scene = await makeScene();
    await vcs.open(scene.workspace);
    for (const step of steps(scene.tree)) {
      const once = await vcs.build(scene.workspace, step);
      const { commit, tree, change_id } = await vcs.build(scene.workspace, step);
      expect({ commit, tree, change_id }).to.deep.equal({
        commit: once.commit,
        tree: once.tree,
        change_id: once.change_id,
      });
    }
  });

  it('refuses to describe a tree that was not approved, and a branch that is not there', async () => {
    const scene = await makeScene();
    await vcs.open(scene.workspace);
    const [create, , commit] = steps(scene.tree);
    expect(await codeOf(vcs.build(scene.workspace, commit))).to.equal('vcs_failed');
    await vcs.build(scene.workspace, create);
    expect(await codeOf(vcs.build(scene.workspace, commit))).to.equal('tree_differs');
    const { commit: before } = await vcs.inspect(scene.workspace, branch);
    expect(await codeOf(vcs.build(scene.workspace, { ...create, message: 'other' }))).to.equal(
      'branch_exists',
    );
    expect((await vcs.inspect(scene.workspace, branch)).commit).to.equal(before);
  });

  it('goes back to every operation and forward again to the same commit', async () => {
    const scene = await makeScene();
    const states = [await vcs.open(scene.workspace)];
    for (const step of steps(scene.tree)) states.push(await vcs.build(scene.workspace, step));
    const baseTree = clone(scene.workspace).git('rev-parse', `${scene.workspace.base_commit}^{tree}`);
    for (const wanted of [2, 1, 3, 0, 3]) {
      const { operation_id: _, ...expected } = states[wanted]!;
      const { operation_id: __, ...got } = await vcs.restore(scene.workspace, states[wanted]!.operation_id);
      expect(got).to.deep.equal(expected);
      await expectOnDisk(scene, expected.tree ?? baseTree);
    }
    await vcs.restore(scene.workspace, states[0]!.operation_id);
    expect(await buildAll(scene)).to.equal(states[3]!.commit);
    await expectOnDisk(scene, scene.tree);
  });

  it('names an operation that it does not know', async () => {
    const { workspace } = await makeScene();
    const { operation_id } = await vcs.open(workspace);
    const other = operation_id.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
    for (const id of [other, 'HEAD', '--help', '']) {
      expect(await codeOf(vcs.restore(workspace, id))).to.equal('operation_unknown');
    }
  });

  it('publishes once, however often it is asked', async () => {
    const { workspace, commit, remote } = await built();
    expect(await vcs.publish(workspace, publication(commit))).to.deep.equal({ result: 'done' });
    expect(remote.git('rev-parse', branch)).to.equal(commit);
    expect(await vcs.publish(workspace, publication(commit))).to.deep.equal({ result: 'done' });
    expect(remote.git('for-each-ref', '--format=%(refname)')).to.equal(
      `refs/heads/${branch}\nrefs/heads/main`,
    );
    expect((await vcs.inspect(workspace, branch)).commit).to.equal(commit);
  });

  it('leaves a remote branch that is not what was expected', async () => {
    const { workspace, commit, remote } = await built();
    remote.git('update-ref', `refs/heads/${branch}`, workspace.base_commit);
    const outcome = await vcs.publish(workspace, publication(commit));
    expect(outcome).to.include({ result: 'moved', actual: workspace.base_commit });
    expect(remote.git('rev-parse', branch)).to.equal(workspace.base_commit);
  });

  it('moves a remote branch that is what was expected', async () => {
    const { workspace, commit, remote } = await built();
    remote.git('update-ref', `refs/heads/${branch}`, workspace.base_commit);
    const outcome = await vcs.publish(workspace, publication(commit, workspace.base_commit));
    expect(outcome).to.deep.equal({ result: 'done' });
    expect(remote.git('rev-parse', branch)).to.equal(commit);
  });

  it('reports what the remote says when it rejects a push', async () => {
    const { workspace, commit, remote } = await built();
    // A hook of a repository on this machine would not run.
    remote.git('config', 'receive.hideRefs', 'refs/heads');
    const outcome = await vcs.publish(workspace, publication(commit));
    expect(outcome.result).to.equal('rejected');
    expect(JSON.stringify(outcome)).to.contain('deny updating a hidden ref');
    remote.git('config', '--unset', 'receive.hideRefs');
    expect(await vcs.publish(workspace, publication(commit))).to.deep.equal({ result: 'done' });
  });

  it('reports what a hook of a server says, and publishes once it allows the push', async () => {
    const { workspace, remote, tree } = await makeScene();
    const server = await startGitServer(dirname(remote.dir), '127.0.0.1');
    try {
      const served = { ...workspace, push_url: `${server.url}/${basename(remote.dir)}` };
      await vcs.open(served);
      const commit = await buildAll({ workspace: served, remote, tree });
      const credential = { username: 'core-bot', password: 'any', origins: [server.url], source: 'a test' };
      const publishing = { ...publication(commit), credential };
      const hook = join(remote.dir, 'hooks/pre-receive');
      writeFileSync(hook, "#!/bin/sh\necho 'no pushes on Sundays' >&2; exit 1\n", { mode: 0o755 });
      const outcome = await vcs.publish(served, publishing);
      expect(outcome.result).to.equal('rejected');
      expect(JSON.stringify(outcome)).to.contain('no pushes on Sundays');
      rmSync(hook);
      expect(await vcs.publish(served, publishing)).to.deep.equal({ result: 'done' });
      expect(remote.git('rev-parse', branch)).to.equal(commit);
    } finally {
      server.close();
    }
  });

  it('says when the remote cannot be reached', async () => {
    const { workspace, commit, remote } = await built();
    rmSync(remote.dir, { recursive: true });
    expect(await codeOf(vcs.publish(workspace, publication(commit)))).to.equal('remote_unavailable');
  });

  it('takes a published branch back, only while it is ours, with or without a clone', async () => {
    const { workspace, commit, remote } = await built();
    await vcs.publish(workspace, publication(commit));
    remote.git('update-ref', `refs/heads/${branch}`, workspace.base_commit);
    const refused = await vcs.unpublish(workspace, publication(commit, commit));
    expect(refused).to.include({ result: 'moved', actual: workspace.base_commit });
    remote.git('update-ref', `refs/heads/${branch}`, commit);
    expect(await vcs.unpublish(workspace, publication(commit, commit))).to.deep.equal({ result: 'done' });
    expect(await vcs.unpublish(workspace, publication(commit, commit))).to.deep.equal({ result: 'done' });
    expect(await vcs.publish(workspace, publication(commit))).to.deep.equal({ result: 'done' });
    rmSync(workspace.clone_dir, { recursive: true });
    expect(await vcs.unpublish(workspace, publication(commit, commit))).to.deep.equal({ result: 'done' });
    expect(remote.git('for-each-ref', '--format=%(refname)')).to.equal('refs/heads/main');
  });

  it('restores after a push without touching the remote', async () => {
    const { workspace, commit, origin, remote, tree } = await built();
    await vcs.publish(workspace, publication(commit));
    expect((await vcs.restore(workspace, origin)).commit).to.equal(null);
    expect(remote.git('rev-parse', branch)).to.equal(commit);
    for (const step of steps(tree)) await vcs.build(workspace, step);
    expect(await vcs.publish(workspace, publication(commit, commit))).to.deep.equal({ result: 'done' });
  });

  it('runs nothing that a hostile repository names', async () => {
    const proof = join((await makeScene()).workspace.clone_dir, '..', '..', 'proof');
    const scene = await makeScene({
      '.gitattributes': '* filter=evil diff=evil merge=evil\n',
      '.gitconfig': `[filter "evil"]\n\tclean = touch ${proof}\n\tsmudge = touch ${proof}\n`,
      'hooks/pre-push': { content: `#!/bin/sh\ntouch ${proof}\n`, mode: 0o755 },
      '.jj/repo/config.toml': `[ui]\neditor = ["touch", "${proof}"]\n`,
      file: 'x\n',
    }).catch((error) => error);
    if (scene instanceof Error) throw scene;
    const opened = await codeOf(
      (async () => {
        await vcs.open(scene.workspace);
        const commit = await buildAll(scene);
        await vcs.publish(scene.workspace, publication(commit));
      })(),
    );
    expect(opened).to.be.oneOf(['nothing', 'vcs_failed']);
    expect(existsSync(proof)).to.equal(false);
  });

  const changes: [string, (scene: Scene, ran: string, elsewhere: string) => void][] = [
    [
      'a changed address',
      ({ workspace, remote }, _ran, elsewhere) => {
        const text = `[url "${elsewhere}"]\n\tinsteadOf = ${remote.dir}\n\tpushInsteadOf = ${remote.dir}\n`;
        appendFileSync(join(workspace.clone_dir, '.git', 'config'), text);
      },
    ],
    [
      'a program for the other end',
      ({ workspace }, ran) => {
        const text = `[remote "origin"]\n\treceivepack = "touch ${ran}; git-receive-pack"\n`;
        appendFileSync(join(workspace.clone_dir, '.git', 'config'), text);
      },
    ],
    [
      'another git folder behind it',
      ({ workspace }, _ran, elsewhere) => {
        writeFileSync(join(workspace.clone_dir, '.git', 'commondir'), `${elsewhere}\n`);
      },
    ],
    [
      'configuration of jj',
      ({ workspace }, ran) => {
        const script = `${ran}.sh`;
        writeFileSync(script, `#!/bin/sh\ntouch ${ran}\nexec git "$@"\n`, { mode: 0o755 });
        const repo = join(workspace.clone_dir, '.jj', 'repo');
        mkdirSync(repo, { recursive: true });
        writeFileSync(join(repo, 'config.toml'), `[git]\nexecutable-path = "${script}"\n`);
      },
    ],
  ];
  for (const [what, change] of changes) {
    it(`pushes nowhere else and runs nothing because of ${what}`, async () => {
      const scene = await built();
      const { workspace, remote, commit } = scene;
      const ran = join(temporaryFolder(), 'ran');
      const elsewhere = makeBareRepository(makeRepository({ own: 'x\n' }));
      const refs = elsewhere.git('for-each-ref');
      change(scene, ran, elsewhere.dir);
      expect(await codeOf(vcs.publish(workspace, publication(commit)))).to.equal('clone_changed');
      expect((await vcs.open(workspace)).commit).to.equal(null);
      await buildAll(scene);
      change(scene, ran, elsewhere.dir);
      expect((await vcs.open(workspace)).commit).to.equal(null);
      expect(await buildAll(scene)).to.equal(commit);
      expect(await vcs.publish(workspace, publication(commit))).to.deep.equal({ result: 'done' });
      change(scene, ran, elsewhere.dir);
      expect(await vcs.unpublish(workspace, publication(commit, commit))).to.deep.equal({ result: 'done' });
      expect(remote.git('for-each-ref', '--format=%(refname)')).to.equal('refs/heads/main');
      expect(elsewhere.git('for-each-ref')).to.equal(refs);
      expect(existsSync(ran)).to.equal(false);
    });
  }

  it('pushes past a lock that a killed git left in a repository on this machine', async () => {
    const { workspace, remote, commit } = await built();
    const lock = join(remote.dir, 'refs', 'heads', `${branch}.lock`);
    const minuteAgo = new Date(Date.now() - 60_000);
    for (const act of ['publish', 'unpublish'] as const) {
      mkdirSync(dirname(lock), { recursive: true });
      writeFileSync(lock, '');
      utimesSync(lock, minuteAgo, minuteAgo);
      const outcome = await vcs[act](workspace, publication(commit, act === 'publish' ? null : commit));
      expect(outcome).to.deep.equal({ result: 'done' });
      expect(existsSync(lock)).to.equal(false);
    }
  });

  itWith(['linux'], 'ends a program that a killed process left running in the clone', async () => {
    const { workspace } = await makeScene();
    await vcs.open(workspace);
    const orphan = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
    orphan.unref();
    mkdirSync(`${workspace.clone_dir}.pids`, { recursive: true });
    writeFileSync(
      join(`${workspace.clone_dir}.pids`, String(orphan.pid)),
      JSON.stringify(identify(orphan.pid!)),
    );
    const ended = new Promise((done) => orphan.once('exit', (_, signal) => done(signal)));
    await vcs.open(workspace);
    expect(await ended).to.equal('SIGTERM');
  });

  describe('killed at a crash point', () => {
    for (const place of crashPoints) {
      it(`goes on from ${place}`, async () => {
        const scene = await makeScene();
        const child = fileURLToPath(new URL('./vcs-child.ts', import.meta.url));
        const killed = await promisify(execFile)(process.execPath, [child, vcs.kind, JSON.stringify(scene)], {
          env: childEnvironment({ CORE_CRASH_AT: place }),
        }).then(
          () => 'nothing',
          (error) => `${error.signal} ${error.stderr}`,
        );
        if (!killed.startsWith('SIGKILL')) throw new Error(killed);
        await vcs.open(scene.workspace);
        for (const step of steps(scene.tree)) {
          const state = await vcs.inspect(scene.workspace, branch);
          const later = state.commit !== null && step.kind === 'create_branch';
          if (!later) await vcs.build(scene.workspace, step);
        }
        const state = await vcs.inspect(scene.workspace, branch);
        expect(state.tree).to.equal(scene.tree);
        await expectOnDisk(scene, scene.tree);
        const actual = await remoteBranch(scene.remote.dir, branch, null);
        const outcome = await vcs.publish(scene.workspace, publication(state.commit!, actual));
        expect(outcome).to.deep.equal({ result: 'done' });
        expect(scene.remote.git('rev-parse', branch)).to.equal(state.commit);
        const reference = await makeScene();
        expect(reference.workspace.base_commit).to.equal(scene.workspace.base_commit);
        await vcs.open(reference.workspace);
        expect(await buildAll(reference)).to.equal(state.commit);
        rmSync(scene.workspace.clone_dir, { recursive: true });
      });
    }
  });
}

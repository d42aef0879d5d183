import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { git, gitText } from '#kit/git/git.ts';
import { copyBranches, initBare, mergeBranch } from '../../services/agentd/forges/local/bare-repository.ts';
import { openMirror } from '../../services/agentd/git/mirror.ts';
import { pushBranch, remoteBranch } from '../../services/agentd/git/remote.ts';
import { makeRepository } from '../fixtures/repositories/repository.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { greetPatch, helloFiles, makeWorld } from '../fixtures/world/world.ts';
import { itWith } from '../needs.ts';

/** All that githooks(5) names. */
const hooks =
  'applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit ' +
  'pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update ' +
  'reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman post-index-change';

/** Keys whose value is a program, or makes git start one. */
const keys = (program: string): Readonly<Record<string, string>> => ({
  'core.fsmonitor': program,
  'core.alternateRefsCommand': program,
  'core.pager': program,
  'core.editor': program,
  'core.askPass': program,
  'core.sshCommand': program,
  'core.gitProxy': program,
  'credential.helper': program,
  'diff.external': program,
  'diff.evil.command': program,
  'diff.evil.textconv': program,
  'filter.evil.clean': program,
  'filter.evil.smudge': program,
  'filter.evil.process': program,
  'merge.evil.driver': program,
  'gc.auto': '1',
  'gc.autoDetach': 'false',
  'gc.recentObjectsHook': program,
  'maintenance.auto': 'true',
  'receive.autogc': 'true',
  'receive.procReceiveRefs': 'refs/for',
  'receive.denyCurrentBranch': 'updateInstead',
  'uploadpack.packObjectsHook': program,
  'protocol.ext.allow': 'always',
  'remote.origin.url': `ext::${program}`,
  'remote.origin.promisor': 'true',
  'gpg.program': program,
});

/** A bare repository in which everything that can start a program starts one that leaves a mark. */
function plantIn(bare: string, mark: string): void {
  const program = join(temporaryFolder(), 'planted');
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >>'${mark}'\n`);
  chmodSync(program, 0o755);
  const own = join(temporaryFolder(), 'hooks');
  for (const folder of [join(bare, 'hooks'), own]) {
    mkdirSync(folder, { recursive: true });
    for (const name of hooks.split(' ')) {
      writeFileSync(join(folder, name), readFileSync(program));
      chmodSync(join(folder, name), 0o755);
    }
  }
  const included = join(own, 'included.gitconfig');
  writeFileSync(included, `[core]\n\thooksPath = ${own}\n`);
  mkdirSync(join(bare, 'info'), { recursive: true });
  writeFileSync(join(bare, 'info/attributes'), '* merge=evil diff=evil filter=evil\n');
  const other = makeRepository({ other: 'other' });
  writeFileSync(join(bare, 'objects/info/alternates'), `${join(other.gitDir, 'objects')}\n`);
  for (const [key, value] of Object.entries({ ...keys(program), 'include.path': included }))
    execFileSync('git', ['config', '--file', join(bare, 'config'), '--add', key, value]);
}

describe('Hooks and configuration that were planted in a repository on this machine', () => {
  for (const address of ['path', 'file URL'] as const) {
    it(`start no program when Core looks, fetches, pushes and deletes by its ${address}`, async () => {
      const { bare, source, mark } = await plantedRepository();
      const url = address === 'path' ? bare : pathToFileURL(bare).href;
      const head = await gitText(['rev-parse', 'HEAD'], { gitDir: source });
      expect(await remoteBranch(url, 'main', null)).to.equal(head);
      const push = { url, branch: 'core/1-x', commit: head, expected: null, credential: null };
      expect(await pushBranch(source, push)).to.deep.equal({ result: 'done' });
      expect(await remoteBranch(url, 'core/1-x', null)).to.equal(head);
      const mirror = await openMirror({ stateDir: temporaryFolder(), forge: 'local', owner: 'a', repo: 'b' });
      await mirror.update(url, null);
      expect(await pushBranch(source, { ...push, commit: null, expected: head })).to.deep.equal({
        result: 'done',
      });
      expect(marks(mark)).to.equal('');
    });
  }

  it('start no program when the local forge merges a branch, or copies a repository', async () => {
    const { bare, source, mark } = await plantedRepository();
    const commit = (text: string, parent: string) => commitOf(bare, { a: text }, parent);
    const first = await gitText(['rev-parse', 'HEAD'], { gitDir: source });
    const [base, head] = [
      await commit('1\nx\n3\n4\nbase\n', first),
      await commit('1\nhead\n3\n4\n5\n', first),
    ];
    await git(['update-ref', 'refs/heads/main', base], { gitDir: bare });
    await git(['update-ref', 'refs/heads/topic', head], { gitDir: bare });
    const merge = { base: 'main', head: 'topic', by: 'mira', at: '2026-01-01T00:00:00Z', message: 'Merge' };
    await mergeBranch(bare, merge).catch((error: { code: string }) =>
      expect(error.code).to.equal('merge_conflict'),
    );
    const copy = join(temporaryFolder(), 'copy.git');
    await initBare(copy, 'main', 'sha1');
    await copyBranches(bare, copy);
    expect(marks(mark)).to.equal('');
  });

  for (const vcs of ['git', 'jj'] as const) {
    itWith([vcs], `start no program in a run from plan to undo with ${vcs}`, async () => {
      const world = await makeWorld({ vcs, files: helloFiles });
      try {
        const mark = join(temporaryFolder(), 'mark');
        plantIn(world.remote.gitDir, mark);
        await world.newIssue(`\`\`\`diff\n${greetPatch}\`\`\`\n`);
        const typed = async (...words: string[]) => {
          const { code, stderr } = await world.command(words, {}, world.checkout.dir);
          expect(code, stderr).to.equal(0);
        };
        await typed('plan', '1');
        await typed('approve', '1', '--all');
        await typed('execute-approved', '1');
        await typed('undo', '1', '--yes');
        expect(marks(mark)).to.equal('');
      } finally {
        await world.close();
      }
    });
  }
});

async function plantedRepository() {
  const { gitDir: source } = makeRepository({ a: '1\n2\n3\n4\n5\n' });
  const folder = temporaryFolder();
  const bare = join(folder, 'bare.git');
  await initBare(bare, 'main', 'sha1');
  await copyBranches(source, bare);
  const branch = await gitText(['symbolic-ref', '--short', 'HEAD'], { gitDir: source });
  if (branch !== 'main') await git(['branch', '-m', branch, 'main'], { gitDir: bare });
  const mark = join(folder, 'mark');
  plantIn(bare, mark);
  return { bare, source, mark };
}

async function commitOf(
  gitDir: string,
  files: Readonly<Record<string, string>>,
  parent: string,
): Promise<string> {
  const lines: string[] = [];
  for (const [path, text] of Object.entries(files)) {
    const blob = await gitText(['hash-object', '-w', '--no-filters', '--stdin'], { gitDir, input: text });
    lines.push(`100644 blob ${blob}\t${path}`);
  }
  const tree = await gitText(['mktree'], { gitDir, input: `${lines.join('\n')}\n` });
  const who = {
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a',
  };
  return gitText(['commit-tree', tree, '-p', parent, '-m', 'x'], { gitDir, env: who });
}

function marks(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

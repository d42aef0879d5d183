import { join } from 'node:path';
import { treeOf } from '#kit/git/tree.ts';
import { openMirror } from '../../services/agentd/git/mirror.ts';
import type { BuildStep, Publication, Vcs, Workspace } from '../../services/agentd/ports/vcs.ts';
import { gitVcs } from '../../services/agentd/vcs/git/git-vcs.ts';
import { jjVcs } from '../../services/agentd/vcs/jj/jj-vcs.ts';
import {
  type FileContent,
  makeBareRepository,
  makeRepository,
  type TestRepository,
} from '../fixtures/repositories/repository.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';

export const branch = 'core/1-greeting';
const author = { name: 'Mira Ünal', email: 'mira@example.org' };

/** Everything that one run's clone is made from, on disk, so that another process can go on with it. */
export interface Scene {
  readonly workspace: Workspace;
  readonly remote: TestRepository;
  readonly tree: string;
}

export const baseFiles: Readonly<Record<string, FileContent>> = {
  'README.md': 'hello\n',
  'src/greet.js': 'export const greet = 1;\n',
  'src/old name.js': 'a\nb\nc\nd\ne\n',
  'tool.sh': { content: '#!/bin/sh\n', mode: 0o755 },
  'dos.txt': 'one\r\ntwo\r\n',
  '.gitignore': '*.log\nbuild/\n',
  '.gitattributes': '*.txt text eol=crlf\n*.bin filter=evil\n*.js ident\n',
  link: { link: 'README.md' },
  'gone/deep/file': 'x\n',
};

export const changedFiles: Readonly<Record<string, FileContent>> = {
  'README.md': 'hello, no newline',
  'src/old name.js': null,
  'src/new\nname "q".js': 'a\nb\nc\nd\nE $Id$\n',
  '-dash': 'dash\n',
  'tool.sh': { content: '#!/bin/sh\n', mode: 0o644 },
  'dos.txt': 'one\r\nthree\n',
  'data.bin': Uint8Array.from({ length: 300 }, (_, index) => index % 256),
  'big.dat': 'x'.repeat(1_300_000),
  'build/ignored.log': 'kept\n',
  link: { link: 'src' },
  'gone/deep/file': null,
  gone: { link: 'README.md' },
  'src/greet.js': null,
  'src/greet.js/inner': 'now a folder\n',
};

/** A remote with one commit, a mirror of it that also holds the tree of a change, and a run's workspace. */
export async function makeScene(
  files: Readonly<Record<string, FileContent>> = baseFiles,
  change: Readonly<Record<string, FileContent>> = changedFiles,
): Promise<Scene> {
  const folder = temporaryFolder();
  const work = makeRepository(files);
  const remote = makeBareRepository(work, join(folder, 'remote.git'));
  const base_commit = work.git('rev-parse', 'HEAD');
  const mirror = await openMirror({ stateDir: folder, forge: 'local', owner: 'demo', repo: 'hello' });
  await mirror.update(remote.dir, null);
  await mirror.pin('run_1', base_commit);
  work.commit(change);
  const tree = await treeOf(work.gitDir, 'HEAD');
  work.git('push', '-q', mirror.dir, 'HEAD:refs/core/approved');
  const workspace: Workspace = {
    run_id: 'run_1',
    clone_dir: join(folder, 'clones', 'run_1'),
    mirror_dir: mirror.dir,
    base_commit,
    base_branch: 'main',
    push_url: remote.dir,
  };
  return { workspace, remote, tree };
}

export function steps(tree: string) {
  return [
    { kind: 'create_branch', branch, message: '-- Work of run_1', author, at: '2026-03-02T08:00:00.000Z' },
    { kind: 'apply_patch', branch, tree, author, at: '2026-03-02T08:00:01.500Z' },
    {
      kind: 'commit',
      branch,
      tree,
      message: 'Greet strangers (#1)\n\nWith "quotes" and ümlauts.',
      author,
      at: '2026-03-02T08:00:02.000Z',
    },
  ] as const satisfies readonly BuildStep[];
}

export function publication(commit: string, expected: string | null = null): Publication {
  return { branch, commit, expected, credential: null };
}

export function vcsOfKind(kind: string): Vcs {
  return kind === 'jj' ? jjVcs() : gitVcs();
}

import {
  chmodSync,
  closeSync,
  existsSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { git } from '#kit/git/git.ts';
import { differenceBetween } from '#kit/git/tree.ts';
import {
  makeBareRepository,
  makeRepository,
  type TestRepository,
} from '../../../../test/fixtures/repositories/repository.ts';
import { temporaryFolder } from '../../../../test/fixtures/repositories/temporary-folder.ts';
import { describeWith, itWith } from '../../../../test/needs.ts';
import { createScratchCopy, type GitScratchCopy } from '../../planning/scratch-copy.ts';
import { sandboxes } from '../../sandboxes/registry.ts';
import { toolPaths } from '../../sandboxes/tool-paths.ts';
import { type AgentTree, openAgentTree } from './agent-tree.ts';

const odd = 'odd "name"\n -x é.txt';
const latin1 = Buffer.from([0x63, 0x61, 0x66, 0xe9]);

describe('The tree of an agent', () => {
  let mirror: TestRepository;
  let base: string;
  let baseTree: string;
  let scratch: GitScratchCopy;
  let tree: AgentTree;

  before(() => {
    const source = makeRepository({
      'src/a.js': 'one\n',
      'src/run.sh': { content: '#!/bin/sh\n', mode: 0o755 },
      [odd]: 'odd\n',
      '.gitignore': 'node_modules/\n*.log\n/build\n',
      'src/.gitignore': '!kept.log\n',
      '.gitattributes': '* text eol=crlf filter=evil\n',
      'tracked.log': 'tracked though ignored\n',
      'vendor/lib/x.js': 'x\n',
      outside: { link: '/etc' },
      inside: { link: 'src' },
    });
    writeFileSync(Buffer.concat([Buffer.from(`${source.dir}/`), latin1]), 'no UTF-8\n');
    source.git('add', '-A');
    source.git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},sub`);
    source.git('commit', '-q', '-m', 'A submodule, and a name that is no UTF-8');
    base = source.git('rev-parse', 'HEAD');
    baseTree = source.git('rev-parse', 'HEAD^{tree}');
    mirror = makeBareRepository(source);
  });

  beforeEach(async () => {
    const folder = temporaryFolder();
    scratch = await createScratchCopy({
      gitDir: mirror.gitDir,
      base_commit: base,
      folder: join(folder, 'scratch'),
    });
    tree = await openAgentTree({
      scratch,
      mirror_dir: mirror.gitDir,
      base_commit: base,
      folder: join(folder, 'agent'),
      mounts: ['node_modules', 'vendor/lib'],
    });
  });

  afterEach(() => tree.remove());

  function write(path: string, content: string | Buffer = 'x\n'): void {
    mkdirSync(dirname(join(tree.workspace, path)), { recursive: true });
    writeFileSync(join(tree.workspace, path), content);
  }

  /** What was changed, as `M path` and `D path` with the mode. */
  async function changes(): Promise<string[]> {
    await tree.readBack();
    const { changed, deleted } = await differenceBetween(
      scratch.gitDir,
      baseTree,
      (await scratch.diff()).tree,
    );
    return [
      ...changed.map(({ mode, path }) => `${mode} ${path}`),
      ...deleted.map((path) => `gone ${path}`),
    ].sort();
  }

  async function refusal(): Promise<{ code: string; message: string }> {
    const outcome = await tree.readBack().then(
      () => ({ code: 'none', message: '' }),
      (error: { code: string; message: string }) => error,
    );
    expect((await scratch.diff()).tree, outcome.code).to.equal(baseTree);
    return outcome;
  }

  it('reads back no change where there is none', async () => {
    expect(await changes()).to.deep.equal([]);
    expect((await scratch.diff()).tree).to.equal(baseTree);
  });

  it('reads back what was written, made executable, renamed, linked and deleted, byte for byte', async () => {
    write('src/a.js', Buffer.from([0, 13, 10, 255]));
    write('new/deep/file with space.txt', 'new\r\n');
    chmodSync(join(tree.workspace, 'src/run.sh'), 0o644);
    renameSync(join(tree.workspace, odd), join(tree.workspace, 'even.txt'));
    chmodSync(join(tree.workspace, 'even.txt'), 0o755);
    symlinkSync('../src/a.js', join(tree.workspace, 'new/link'));
    rmSync(join(tree.workspace, 'inside'));
    expect(await changes()).to.deep.equal(
      [
        '100644 new/deep/file with space.txt',
        '100644 src/a.js',
        '100644 src/run.sh',
        '100755 even.txt',
        '120000 new/link',
        'gone inside',
        `gone ${odd}`,
      ].sort(),
    );
    expect(Buffer.from((await scratch.read('src/a.js'))!)).to.deep.equal(Buffer.from([0, 13, 10, 255]));
    expect(Buffer.from((await scratch.read('new/deep/file with space.txt'))!).toString()).to.equal('new\r\n');
  });

  it('takes a folder in the place of a file, and a file in the place of a folder', async () => {
    rmSync(join(tree.workspace, 'src'), { recursive: true });
    write('src', 'a file\n');
    rmSync(join(tree.workspace, 'tracked.log'));
    write('tracked.log/below.txt');
    expect(await changes()).to.deep.equal([
      '100644 src',
      'gone src/.gitignore',
      'gone src/a.js',
      'gone src/run.sh',
      'gone tracked.log',
    ]);
  });

  it('leaves out what the base ignores, what is mounted and the throwaway repository, and nothing that is recorded', async () => {
    write('build/out.js');
    write('debug.log');
    write('src/kept.log');
    write('src/other.log');
    write('node_modules/package/index.js');
    write('deep/node_modules/package/.git/config');
    write('vendor/lib/x.js', 'changed below a mount\n');
    write('.git/config', '[core]\n\tfsmonitor = false\n');
    write('.git/hooks/post-checkout', '#!/bin/sh\n');
    write('tracked.log', 'changed\n');
    write('.gitignore', '*\n');
    expect(await changes()).to.deep.equal(['100644 .gitignore', '100644 src/kept.log', '100644 tracked.log']);
  });

  it('keeps names that are no UTF-8 where they are unchanged, and deletes them', async () => {
    rmSync(Buffer.concat([Buffer.from(`${tree.workspace}/`), latin1]));
    expect((await tree.readBack()).deleted).to.equal(1);
  });

  const hostile: Readonly<Record<string, [RegExp, (folder: string) => unknown]>> = {
    'a nested repository': [
      /'vendor\/new\/\.git' names a git folder/,
      () => write('vendor/new/.git/HEAD', 'ref: x\n'),
    ],
    'a git file': [/'src\/\.git' names a git folder/, () => write('src/.git', 'gitdir: /etc\n')],
    'a git folder in other letters': [/'\.GIT' names a git folder/, () => write('.GIT/config')],
    'a short name of a git folder': [/'git~1' names a git folder/, () => write('git~1')],
    'a link to an absolute path': [
      /'evil' is a link to the absolute path/,
      (at) => symlinkSync('/etc/passwd', join(at, 'evil')),
    ],
    'a link out of the tree': [
      /'src\/evil' is a link out of the tree/,
      (at) => symlinkSync('../../x', join(at, 'src/evil')),
    ],
    'a link into a git folder': [
      /is a link into a git folder/,
      (at) => symlinkSync('.git/config', join(at, 'evil')),
    ],
    'a link in the place of a folder': [
      /'src' is a link to the absolute path/,
      (at) => {
        rmSync(join(at, 'src'), { recursive: true });
        symlinkSync('/etc', join(at, 'src'));
      },
    ],
    'a socket': [
      /'socket' is a socket/,
      (at) =>
        new Promise((resolve) => {
          const server = createServer().listen(join(at, 'socket'), () => {
            // Moved, so that closing does not remove it.
            renameSync(join(at, 'socket'), join(at, 'kept'));
            server.close(() => {
              renameSync(join(at, 'kept'), join(at, 'socket'));
              resolve(null);
            });
          });
        }),
    ],
    'a file with a name that is no UTF-8': [
      /has a name that is no UTF-8/,
      (at) => writeFileSync(Buffer.concat([Buffer.from(`${at}/src/`), latin1]), 'x'),
    ],
    'a folder with a name that is no UTF-8': [
      /has a name that is no UTF-8/,
      (at) => mkdirSync(Buffer.concat([Buffer.from(`${at}/src/`), latin1])),
    ],
    'files in a submodule': [/'sub\/x' lies in a submodule/, () => write('sub/x')],
    'a file in the place of a submodule': [
      /'sub' stands in the place of a submodule/,
      (at) => {
        rmSync(join(at, 'sub'), { recursive: true });
        writeFileSync(join(at, 'sub'), 'x');
      },
    ],
  };
  for (const [what, [message, make]] of Object.entries(hostile)) {
    it(`refuses ${what} by its name and changes nothing`, async () => {
      await make(tree.workspace);
      const error = await refusal();
      expect(error.code).to.equal('agent_tree_refused');
      expect(error.message).to.match(message);
    });
  }

  it('refuses a large file without reading it, and one in the place of a small one', async () => {
    for (const path of ['huge.bin', 'src/a.js']) {
      const file = openSync(join(tree.workspace, path), 'w');
      ftruncateSync(file, path === 'huge.bin' ? 2 ** 40 : 17 * 1024 * 1024);
      closeSync(file);
      const error = await refusal();
      expect(error).to.include({ code: 'agent_tree_too_large' });
      expect(error.message).to.contain(`'${path}' with `);
      rmSync(join(tree.workspace, path));
    }
  });

  itWith(['time'], 'refuses more files than a change may have', async () => {
    mkdirSync(join(tree.workspace, 'many'));
    for (let number = 0; number <= 20_000; number++)
      writeFileSync(join(tree.workspace, 'many', String(number)), '');
    const error = await refusal();
    expect(error).to.include({ code: 'agent_tree_too_large' });
    expect(error.message).to.contain('more than 20000 changed files');
  });

  itWith(
    ['time'],
    'refuses a real file of 2 GB, new and in the place of a small one',
    async function (this: Mocha.Context) {
      this.timeout(600_000);
      const piece = Buffer.alloc(64 * 1024 * 1024, 'x');
      for (const path of ['huge.bin', 'src/a.js']) {
        const file = openSync(join(tree.workspace, path), 'w');
        for (let number = 0; number < 32; number++) writeSync(file, piece);
        closeSync(file);
        const error = await refusal();
        expect(error).to.include({ code: 'agent_tree_too_large' });
        expect(error.message).to.contain(`'${path}' with 2147483648 `);
        rmSync(join(tree.workspace, path));
      }
    },
  );

  it('refuses more bytes than a change may have', async () => {
    const piece = Buffer.alloc(16 * 1024 * 1024);
    for (let number = 0; number < 17; number++) writeFileSync(join(tree.workspace, `${number}.bin`), piece);
    expect((await refusal()).message).to.contain('more than 268435456 bytes of changed files');
  });

  it('is empty again when it is opened over what an interrupted planning left', async () => {
    write('left.txt');
    const folder = dirname(tree.workspace);
    chmodSync(join(tree.workspace, 'src'), 0o000);
    tree = await openAgentTree({ scratch, mirror_dir: mirror.gitDir, base_commit: base, folder, mounts: [] });
    expect(await changes()).to.deep.equal([]);
    await tree.remove();
    expect(existsSync(folder)).to.equal(false);
  });

  describeWith(['bubblewrap'], 'in a sandbox', () => {
    async function inside(command: string): Promise<string> {
      const prepared = temporaryFolder();
      mkdirSync(join(prepared, 'package'));
      const { output } = await sandboxes
        .bubblewrap({ tools: toolPaths([], []), networkEnvironment: {} })
        .run({
          workspace: tree.workspace,
          mounts: [{ source: prepared, target: 'node_modules' }],
          setup: tree.setup,
          command,
          network: false,
          limits: { seconds: 60, memory_mib: 512, processes: 64, disk_mib: 256, output_bytes: 65536 },
        });
      return Buffer.from(output).toString('utf8');
    }

    it('is a repository with one commit of the base, clean, with nothing of what is mounted', async () => {
      const text = await inside(
        'git status --porcelain; git log --format=%s%d; git ls-files | grep -c -e tracked.log -e node_modules; echo more >>src/a.js; git commit -qam change && git log --oneline | wc -l',
      );
      expect(text).to.equal('Base commit (HEAD -> main)\n1\n2\n');
      expect(await changes()).to.deep.equal(['100644 src/a.js']);
    });

    it('runs no program that an agent put where git would start one', async () => {
      const text = await inside(
        `printf '#!/bin/sh\\ntouch /workspace/ran\\n' >evil; chmod +x evil; cp evil .git/hooks/post-index-change; git config core.fsmonitor /workspace/evil; git config filter.evil.clean /workspace/evil; git config core.worktree /; rm -rf .git/objects; ln -s / .git/objects; echo done`,
      );
      expect(text).to.contain('done');
      expect(await changes()).to.deep.equal(['100755 evil']);
      expect(readdirSync(tree.workspace)).not.to.contain('ran');
    });

    it('refuses a device and a named pipe that were made inside', async () => {
      await inside('mknod device c 0 0; mkfifo pipe');
      const made = readdirSync(tree.workspace).filter((name) => ['device', 'pipe'].includes(name));
      for (const name of made) {
        const others = made.filter((other) => other !== name && existsSync(join(tree.workspace, other)));
        for (const other of others) rmSync(join(tree.workspace, other));
        expect((await refusal()).message).to.match(/'(device|pipe)' is a (device|named pipe)/);
        if (others.length > 0) break;
      }
      expect(made).to.contain('pipe');
    });
  });

  it('leaves the mirror as it was', async () => {
    write('secret.txt', 'must not stay\n');
    const before = readdirSync(join(mirror.gitDir, 'objects'), { recursive: true }).length;
    await tree.readBack();
    expect(readdirSync(join(mirror.gitDir, 'objects'), { recursive: true }).length).to.equal(before);
    expect(lstatSync(join(mirror.gitDir, 'HEAD')).isFile()).to.equal(true);
    expect(readFileSync(join(tree.workspace, 'secret.txt'), 'utf8')).to.equal('must not stay\n');
    const { stdout } = await git(['fsck', '--no-dangling'], { gitDir: scratch.gitDir, accept: [1, 2, 4, 8] });
    expect(stdout.toString()).not.to.contain('missing');
  });
});

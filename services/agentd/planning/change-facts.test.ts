import { expect } from 'chai';
import type { FileChange, Influence, ValidationPlan } from '../action.ts';
import type { TreeReader } from '../git/tree.ts';
import { changeFacts, sameNameNotices } from './change-checks.ts';

const nothing: TreeReader = { list: async () => [], read: async () => null };

const plan: ValidationPlan = {
  source: 'repository',
  found: '.core.json',
  prepare: [{ name: 'install', run: 'python3 -m pip install -r requirements.txt' }],
  prepare_network: false,
  prepared_paths: [],
  lockfiles: ['deps.lock'],
  commands: [{ name: 'test', run: 'cd . && "./scripts/check" --all;sh scripts/more' }],
  covers: undefined,
  without_tests: undefined,
  programs: undefined,
  submodules: undefined,
  lfs: undefined,
  limits: { seconds: 1, memory_mib: 16, processes: 4, disk_mib: 16, output_bytes: 1024 },
};

async function decidingAmong(paths: readonly string[]): Promise<readonly string[]> {
  const files = paths.map((path): FileChange => {
    const facts = { old_path: null, status: 'modified', added: 1, removed: 0 } as const;
    return { path, ...facts, old_mode: '100644', new_mode: '100644' };
  });
  return (await changeFacts(files, nothing, nothing, plan, [], 0)).validation_files;
}

describe('What a change touches of its own validation', () => {
  it('is where the plan was found, its lockfiles, and what its commands name', async () => {
    const deciding = ['.core.json', 'deps.lock', 'requirements.txt', 'scripts/check', 'scripts/more'];
    expect(await decidingAmong([...deciding, 'src/a.js', 'scripts/check2'])).to.deep.equal(deciding);
  });

  it('is found in every spelling that Windows or macOS take for the same file', async () => {
    const deciding = ['Deps.LOCK', 'scripts./check', 'scripts\\more', 'REQUIR~1.TXT', 'deps.lock::$DATA'];
    expect(await decidingAmong([...deciding, 'scripts/mores'])).to.deep.equal(deciding);
  });

  it('is the scripts of a package.json, however its name is spelled', async () => {
    const after: TreeReader = {
      list: async () => [],
      read: async () => Buffer.from('{"scripts":{"install":"x"}}'),
    };
    const facts = { old_path: null, status: 'added', added: 1, removed: 0 } as const;
    for (const path of ['Package.JSON', 'app/package.json.', 'PACKAG~1.JSO']) {
      const files = [{ path, ...facts, old_mode: null, new_mode: '100644' }];
      expect((await changeFacts(files, nothing, after, null, [], 0)).install_scripts).to.deep.equal([path]);
    }
  });
});

describe('Names that a change creates', () => {
  const noticesOf = (
    created: readonly string[],
    tree: readonly string[],
    status: FileChange['status'] = 'added',
  ) => {
    const facts = {
      old_path: null,
      status,
      added: 1,
      removed: 0,
      old_mode: null,
      new_mode: '100644',
    } as const;
    return sameNameNotices(
      created.map((path) => ({ path, ...facts })),
      [...tree, ...created],
    );
  };

  it('are noted where Windows or macOS take them for another one of the tree', () => {
    for (const [created, other] of [
      ['readme.md', 'README.md'],
      ['src/a.js', 'Src'],
      ['caf\u00e9', 'cafe\u0301'],
      ['a./b', 'a'],
      ['x::$DATA', 'x'],
      ['GITHUB~1', '.github'],
    ] as const) {
      const [notice] = noticesOf([created], [other === 'Src' || other === 'a' ? `${other}/z` : other]);
      expect(notice, created).to.contain(other).and.contain('for the same file');
    }
    expect(noticesOf(['a', 'A'], [])).to.have.length(1);
  });

  it('are not noted where they are apart, or were there before', () => {
    expect(noticesOf(['a.js', 'b~1', 'src/c.js'], ['b.js', 'src/d.js'])).to.deep.equal([]);
    expect(noticesOf(['a'], ['A'], 'modified')).to.deep.equal([]);
  });
});

describe('The words of outsiders that led to a change', () => {
  const by = (kind: Influence['kind'], source: string, trusted = false): Influence => ({
    ...{ kind, source, trusted },
    author: kind === 'issue' ? 'mira' : null,
  });
  const untrustedIn = async (influences: readonly Influence[]) =>
    (await changeFacts([], nothing, nothing, null, influences, 0)).untrusted;

  it('are named, memories by their number', async () => {
    const issue = by('issue', 'demo/hello#1');
    expect(await untrustedIn([issue, by('file', 'README.md', true)])).to.deep.equal(['demo/hello#1 by mira']);
    expect(await untrustedIn([issue, by('memory', 'memory:1')])).to.deep.equal([
      'demo/hello#1 by mira',
      'a memory of earlier work',
    ]);
    expect(await untrustedIn([by('memory', 'memory:1'), by('memory', 'memory:2')])).to.deep.equal([
      '2 memories of earlier work',
    ]);
  });
});

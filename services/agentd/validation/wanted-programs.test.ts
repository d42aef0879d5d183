import { expect } from 'chai';
import type { ValidationPlan } from '../action.ts';
import { filesOf } from './ecosystems/project.ts';
import {
  choosePrograms,
  type FoundProgram,
  fits,
  type ProgramName,
  programNotices,
  wantedPrograms,
  withPrograms,
} from './wanted-programs.ts';

const wantedIn = async (files: Readonly<Record<string, string>>) => {
  const tree = {
    list: async () => Object.keys(files).sort(),
    read: async (path: string) => (path in files ? Buffer.from(files[path]!) : null),
  };
  const wanted = await wantedPrograms(await filesOf(tree));
  return wanted.map(({ program, version, from }) => `${program} ${version} (${from})`);
};

describe('The programs that a repository asks for', () => {
  const table: Readonly<
    Record<string, readonly [files: Readonly<Record<string, string>>, wanted: string[]]>
  > = {
    nothing: [{ 'README.md': '', 'package.json': '{}' }, []],
    '.nvmrc before engines': [
      { '.nvmrc': '# ours\nv20.11.1\n', 'package.json': '{"engines":{"node":">=18"}}' },
      ['node v20.11.1 (.nvmrc)'],
    ],
    'an alias in .nvmrc': [{ '.nvmrc': 'lts/iron' }, ['node lts/iron (.nvmrc)']],
    engines: [{ 'package.json': '{"engines":{"node":"^20 || >=22"}}' }, ['node ^20 || >=22 (package.json)']],
    '.python-version before requires-python': [
      { '.python-version': '3.11\n', 'pyproject.toml': '[project]\nrequires-python = ">=3.9"\n' },
      ['python3 3.11 (.python-version)'],
    ],
    'requires-python': [
      { 'pyproject.toml': '[project]\nrequires-python = ">=3.9,<4"\n' },
      ['python3 >=3.9,<4 (pyproject.toml)'],
    ],
    'the Python of Poetry': [
      { 'pyproject.toml': '[tool.poetry.dependencies]\npython = "^3.10"\n' },
      ['python3 ^3.10 (pyproject.toml)'],
    ],
    '.tool-versions': [
      {
        '.tool-versions':
          'nodejs 20.11.1 # LTS\npython 3.12.1 3.11\ngolang 1.22.0\nrust 1.75.0\nelixir 1.16\n',
      },
      [
        'node 20.11.1 (.tool-versions)',
        'python3 3.12.1 (.tool-versions)',
        'go 1.22.0 (.tool-versions)',
        'rustc 1.75.0 (.tool-versions)',
      ],
    ],
    'rust-toolchain.toml': [
      { 'rust-toolchain.toml': '[toolchain]\nchannel = "1.75"\n' },
      ['rustc 1.75 (rust-toolchain.toml)'],
    ],
    'rust-toolchain of one line': [{ 'rust-toolchain': 'nightly\n' }, ['rustc nightly (rust-toolchain)']],
    'the Rust of a crate': [
      { 'Cargo.toml': '[package]\nrust-version = "1.70"\n' },
      ['rustc >=1.70 (Cargo.toml)'],
    ],
    'go.mod': [{ 'go.mod': 'module x\n\ngo 1.22.1\n' }, ['go >=1.22.1 (go.mod)']],
    'files that cannot be read': [
      { 'package.json': '{', 'pyproject.toml': '[', 'rust-toolchain.toml': '[' },
      [],
    ],
  };
  for (const [title, [files, wanted]] of Object.entries(table)) {
    it(`are known from ${title}`, async () => {
      expect(await wantedIn(files)).to.deep.equal(wanted);
    });
  }

  const versions: readonly (readonly [ProgramName, found: string, wanted: string, boolean | null])[] = [
    ['node', 'v20.11.1', '20', true],
    ['node', 'v20.11.1', 'v20.11.1', true],
    ['node', 'v20.11.2', 'v20.11.1', false],
    ['node', 'v24.1.0', '20', false],
    ['node', 'v24.1.0', '^20 || >=22', true],
    ['node', 'v24.1.0', 'lts/iron', null],
    ['python3', 'Python 3.11.2', '3.11', true],
    ['python3', 'Python 3.11.2', '3.12', false],
    ['python3', 'Python 3.11.2', '>=3.9,<4', true],
    ['python3', 'Python 3.11.2', '>=3.9, <3.11', false],
    ['python3', 'Python 3.11.2', '~=3.10', true],
    ['python3', 'Python 3.11.2', '~=3.10.1', false],
    ['python3', 'Python 3.11.2', '==3.11.*', true],
    ['python3', 'Python 3.11.2', '>=3.9,!=3.11.2', false],
    ['python3', 'Python 3.11.3', '>=3.9,!=3.11.2,<4', true],
    ['python3', 'Python 3.11.2', '>=3.9,!=3.11.*', null],
    ['python3', 'Python 3.11.2', '^3.10', true],
    ['python3', 'Python 3.11.2', 'pypy3.10', null],
    ['go', 'go version go1.22.3 linux/amd64', '>=1.22.1', true],
    ['go', 'go version go1.21 linux/amd64', '>=1.22.1', false],
    ['rustc', 'rustc 1.75.0 (82e1608df 2023-12-21)', '1.75', true],
    ['rustc', 'rustc 1.75.0 (82e1608df 2023-12-21)', '>=1.80', false],
    ['rustc', 'rustc 1.75.0 (82e1608df 2023-12-21)', 'stable', true],
    ['rustc', 'rustc 1.77.0-nightly (5518eaa94 2024-01-17)', 'nightly', true],
    ['rustc', 'rustc 1.75.0 (82e1608df 2023-12-21)', 'nightly', false],
    ['rustc', 'rustc 1.77.0-nightly (5518eaa94 2024-01-17)', 'nightly-2024-01-18', null],
    ['node', 'no version', '20', null],
  ];
  for (const [program, found, version, expected] of versions) {
    it(`fit or not: ${found} for ${version}`, () => {
      expect(fits(found, { program, version })).to.equal(expected);
    });
  }
});

describe('The programs that a validation uses', () => {
  const found: readonly FoundProgram[] = [
    { path: '/opt/own/bin/node', version: 'v24.1.0' },
    { path: '/usr/bin/node', version: 'v20.11.1' },
    { path: '/usr/bin/python3', version: 'Python 3.11.2' },
    { path: '/usr/bin/python3.12', version: 'Python 3.12.1' },
  ];
  const plan = (source: ValidationPlan['source']): ValidationPlan => ({
    source,
    found: 'package.json',
    prepare: [
      { name: 'install', run: 'npm ci --ignore-scripts --no-audit --no-fund' },
      { name: 'python', run: '(cd api && python3 -m venv .venv && .venv/bin/python -m pip install pytest)' },
    ],
    prepare_network: true,
    prepared_paths: [],
    lockfiles: [],
    commands: [
      { name: 'test', run: '(cd web && npm test)' },
      { name: 'pytest', run: 'PYTHONPATH="$PWD" python3 -m pytest' },
      { name: 'go', run: 'go test ./...' },
    ],
    covers: undefined,
    without_tests: undefined,
    programs: undefined,
    submodules: undefined,
    lfs: undefined,
    limits: { seconds: 1, memory_mib: 16, processes: 4, disk_mib: 16, output_bytes: 1024 },
  });
  const wanted = (program: ProgramName, version: string) => ({ program, version, from: 'the file' });
  const used = (all: ReturnType<typeof wanted>[], source: ValidationPlan['source'] = 'detected') => {
    const chosen = choosePrograms({ source }, all, found);
    const { prepare, commands, programs } = withPrograms(plan(source), chosen, found);
    return { lines: [...prepare, ...commands].map(({ run }) => run), programs };
  };

  it('are those that the repository asks for, where the sandbox has them', () => {
    const { lines, programs } = used([wanted('node', '20'), wanted('python3', '3.12')]);
    expect(lines).to.deep.equal([
      'PATH=/usr/bin:"$PATH" npm ci --ignore-scripts --no-audit --no-fund',
      '(cd api && /usr/bin/python3.12 -m venv .venv && .venv/bin/python -m pip install pytest)',
      '(cd web && PATH=/usr/bin:"$PATH" npm test)',
      'PYTHONPATH="$PWD" /usr/bin/python3.12 -m pytest',
      'go test ./...',
    ]);
    expect(programs!.map(({ path, fits: fit }) => [path, fit])).to.deep.equal([
      ['/usr/bin/node', true],
      ['/usr/bin/python3.12', true],
    ]);
    expect(programNotices(programs)).to.deep.equal([]);
  });

  it('are those that commands find, where these fit or nothing else does', () => {
    const lines = [...plan('detected').prepare, ...plan('detected').commands].map(({ run }) => run);
    expect(used([wanted('node', '>=20'), wanted('python3', '3.11')]).lines).to.deep.equal(lines);
    const other = used([wanted('node', '18'), wanted('go', '>=1.22'), wanted('node', 'lts/iron')]);
    expect(other.lines).to.deep.equal(lines);
    expect(programNotices(other.programs)).to.deep.equal([
      'the file asks for node 18, and the validation uses v24.1.0 (/opt/own/bin/node): install it, or add its folder to tool_paths of validation.json',
      'the file asks for go >=1.22, and the sandbox has none: install it, or add its folder to tool_paths of validation.json',
      'the file asks for node lts/iron; whether v24.1.0 (/opt/own/bin/node) is that cannot be told',
    ]);
  });

  it('are not chosen for the commands of a configuration, but named', () => {
    const lines = [...plan('repository').prepare, ...plan('repository').commands].map(({ run }) => run);
    const { lines: called, programs } = used([wanted('node', '20')], 'repository');
    expect(called).to.deep.equal(lines);
    expect(programs![0]).to.include({ path: '/opt/own/bin/node', fits: false });
  });
});

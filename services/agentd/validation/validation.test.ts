import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { codeOf } from '#kit/errors.ts';
import { fingerprintOf } from '#kit/redaction/find-secrets.ts';
import { secretFinder } from '#kit/redaction/secret-finder.ts';
import { thisProcess } from '#kit/storage/process-identity.ts';
import { has } from '../../../test/needs.ts';
import type { ValidationPlan } from '../action.ts';
import { exportTree } from '../git/export-tree.ts';
import { sandboxes, termsOf } from '../sandboxes/registry.ts';
import { toolPaths } from '../sandboxes/tool-paths.ts';
import { createValidation, type Validation, type ValidationReport } from './validation.ts';

const kind = has('bubblewrap') ? 'bubblewrap' : 'none';
const options = { tools: toolPaths([], []), networkEnvironment: {} };
const sandbox = sandboxes[kind](options);

/** Hint at the end of each command's log that failed. */
const noGit = '[core: not as in a checkout: there is no .git folder]\n';

describe(`Validating a tree (sandbox: ${kind})`, () => {
  let root = '';
  let validation: Validation;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'core-validation-test-'));
    git('init', '-q', '-b', 'main');
    const secrets = secretFinder([]);
    validation = createValidation({
      stateDir: state(),
      sandbox,
      terms: termsOf(kind, options),
      exportTree: ({ mirror_dir, tree }, into) => exportTree(mirror_dir, tree, into),
      secrets,
    });
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function state(...parts: string[]): string {
    return join(root, 'state', ...parts);
  }

  function git(...args: string[]): string {
    const identity = [
      '-c',
      'user.name=mira',
      '-c',
      'user.email=mira@example.org',
      '-c',
      'core.hooksPath=/dev/null',
    ];
    mkdirSync(join(root, 'repo'), { recursive: true });
    return execFileSync('git', [...identity, ...args], { cwd: join(root, 'repo'), encoding: 'utf8' }).trim();
  }

  function commit(files: Record<string, string>): string {
    for (const [path, content] of Object.entries(files)) {
      const file = join(root, 'repo', path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    }
    git('add', '-A');
    git('commit', '-q', '--allow-empty', '-m', 'change');
    return git('rev-parse', 'HEAD');
  }

  function run(
    base: string,
    changed: string,
    plan: Partial<ValidationPlan>,
    signal = new AbortController().signal,
    said: string[] = [],
    repository = 'repo',
  ): Promise<ValidationReport> {
    return validation.run({
      mirror_dir: join(root, repository, '.git'),
      base_commit: base,
      tree: git('rev-parse', `${changed}^{tree}`),
      plan: planOf(plan),
      signal,
      onStep: (text) => said.push(text),
    });
  }

  it('runs the commands on an export of the tree, without anything of git', async () => {
    const base = commit({ 'value.txt': 'old' });
    const changed = commit({ 'value.txt': 'new' });
    const report = await run(base, changed, {
      commands: [
        { name: 'read', run: 'cat value.txt; ls -A' },
        { name: 'warn', run: 'echo careful >&2' },
      ],
    });
    expect(report).to.include({ passed: true, base_commit: base, sandbox: kind, prepared: 'none' });
    expect(report.tree).to.equal(git('rev-parse', `${changed}^{tree}`));
    expect(report.steps.map(logOf)).to.deep.equal(['newvalue.txt\n', 'careful\n']);
    expect(readdirSync(state('validation'))).to.deep.equal([]);
  });

  it('runs the commands on the base too if one fails, and keeps what they said there', async () => {
    const base = commit({ value: '1' });
    const changed = commit({ value: '2' });
    const said: string[] = [];
    const commands = [
      { name: 'grep', run: 'grep 1 value' },
      { name: 'read', run: 'cat value' },
    ];
    const first = await run(base, changed, { commands }, undefined, said);
    expect(first).to.deep.include({ passed: false });
    expect(first.base).to.deep.include({
      tree: git('rev-parse', `${base}^{tree}`),
      failures: 1,
      on_base: 0,
      new_failures: ["'grep 1 value'"],
      undecided: [],
    });
    expect(first.base!.steps.map(logOf)).to.deep.equal(['1\n', '1']);
    expect(said.filter((text) => text.includes('on the base, to compare'))).to.have.length(1);
    const again = await run(base, changed, { commands }, undefined, said);
    expect(again.base!.steps.map(logOf)).to.deep.equal(['1\n', '1']);
    expect(again.base!.new_failures).to.deep.equal(first.base!.new_failures);
    expect(said.filter((text) => text.includes('on the base, to compare'))).to.have.length(1);
    const otherwise = await run(base, changed, { commands: [commands[0]!] }, undefined, said);
    expect(otherwise.base!.steps).to.have.length(1);
    for (const name of readdirSync(state('base-results'))) writeFileSync(state('base-results', name), '{');
    expect((await run(base, changed, { commands })).base!.steps.map(logOf)).to.deep.equal(['1\n', '1']);
  });

  it('finds the programs that commands would find, with their versions', async () => {
    const found = await validation.programs({ 'rust-toolchain': 'stable\n' }, new AbortController().signal);
    const node = found.find(({ path }) => path.endsWith('/node'));
    expect(node?.version).to.match(/^v\d+\.\d+\.\d+$/);
    expect(readdirSync(state('validation'))).to.deep.equal([]);
  });

  it('keeps no secret that a command writes: not in its log, not in its live output, however it is written', async () => {
    const [head, tail] = ['ghp', 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6'];
    const secret = `${head}_${tail}`;
    const tree = commit({
      'say.sh': `printf 'it is ${head}_aB3d'; sleep 0.3; printf '%s' '${tail.slice(4, 20)}'; sleep 0.3; printf '${tail.slice(20)} ok\\n'\n`,
    });
    const printed: string[] = [];
    const report = await validation.run({
      mirror_dir: join(root, 'repo', '.git'),
      base_commit: tree,
      tree: git('rev-parse', `${tree}^{tree}`),
      plan: planOf({
        commands: [
          { name: 'say', run: 'sh say.sh' },
          { name: 'fail', run: 'exit 3' },
        ],
      }),
      signal: new AbortController().signal,
      onOutput: (text) => printed.push(text),
    });
    expect(report.steps.map(logOf)).to.deep.equal(['it is [redacted github_token] ok\n', noGit]);
    expect(printed.join('')).to.equal('it is [redacted github_token] ok\n');
    expect(report.steps.map(({ exit_code }) => exit_code)).to.deep.equal([0, 3]);
    expect(report.masked).to.deep.equal([
      { kind: 'github_token', fingerprint: fingerprintOf(secret), place: 'the validation’s output' },
    ]);
  });

  it('reports each command with its log, also after one that failed', async () => {
    const base = commit({});
    const report = await run(base, base, {
      commands: [
        { name: 'one', run: 'true' },
        { name: 'two', run: 'echo broken; exit 3' },
        { name: 'three', run: 'true' },
      ],
    });
    expect(report.passed).to.equal(false);
    expect(report.steps.map(({ name, exit_code }) => [name, exit_code])).to.deep.equal([
      ['one', 0],
      ['two', 3],
      ['three', 0],
    ]);
    expect(logOf(report.steps[1]!)).to.equal(`broken\n${noGit}`);
  });

  it('says where missing tools are configured', async () => {
    const base = commit({});
    const report = await run(base, base, { commands: [{ name: 'test', run: 'no-such-tool' }] });
    expect(report.steps[0]).to.include({ exit_code: 127 });
    expect(logOf(report.steps[0]!)).to.contain('tool_paths of config/validation.json');
  });

  it('gives all commands together the time of the plan', async () => {
    const base = commit({});
    const limits = { ...planOf({}).limits, seconds: 1 };
    const report = await run(base, base, { limits, commands: [{ name: 'slow', run: 'sleep 250' }] });
    expect(report.passed).to.equal(false);
    expect(report.steps[0]).to.include({ ended_by: 'timeout', exit_code: null });
  });

  it('prepares at the base commit once, and shows the result to the change', async () => {
    const base = commit({ lock: '1', 'make.sh': 'mkdir -p deps/a && cp lock deps/a/version' });
    const changed = commit({ 'make.sh': 'exit 1', extra: 'x' });
    const plan = {
      prepare: [{ name: 'get', run: 'sh make.sh' }],
      prepared_paths: ['deps'],
      lockfiles: ['lock'],
      commands: [{ name: 'test', run: 'cat deps/a/version extra' }],
    };
    const first = await run(base, changed, plan);
    expect(first).to.include({ passed: true, prepared: 'made' });
    expect(first.steps.map(({ phase, name }) => `${phase} ${name}`)).to.deep.equal([
      'prepare get',
      'run test',
    ]);
    expect(logOf(first.steps[1]!)).to.equal('1x');
    const second = await run(base, changed, plan);
    expect(second).to.include({ passed: true, prepared: 'cached' });
    expect(second.steps).to.have.length(1);
    expect(readdirSync(state('prepared'))).to.have.length(1);
  });

  const changes: Readonly<Record<string, (deps: string) => void>> = {
    'a file': (deps) => writeFileSync(join(deps, 'a/code'), 'evil'),
    'a file of the same size and time': (deps) => {
      writeFileSync(join(deps, 'a/code'), 'evi!');
      utimesSync(join(deps, 'a/code'), 0, 0);
    },
    'a new file': (deps) => writeFileSync(join(deps, 'a/.hidden'), ''),
    'a removed file': (deps) => rmSync(join(deps, 'a/code')),
    'an executable bit': (deps) => chmodSync(join(deps, 'a/code'), 0o755),
    'the target of a link': (deps) => {
      rmSync(join(deps, 'link'));
      symlinkSync('/etc/passwd', join(deps, 'link'));
    },
    'a file that became a folder': (deps) => {
      rmSync(join(deps, 'a/code'));
      mkdirSync(join(deps, 'a/code'));
    },
    'the noted digest': (deps) => rmSync(join(deps, '../.digest')),
    'a folder that became a link': (deps) => {
      cpSync(deps, join(root, 'elsewhere'), { recursive: true });
      rmSync(deps, { recursive: true });
      symlinkSync(join(root, 'elsewhere'), deps);
    },
  };
  for (const [what, change] of Object.entries(changes)) {
    it(`prepares again if prepared dependencies were changed: ${what}`, async () => {
      const plan = {
        prepare: [{ name: 'get', run: 'mkdir -p deps/a; printf good >deps/a/code; ln -s a deps/link' }],
        prepared_paths: ['deps'],
        commands: [{ name: 'test', run: 'cat deps/link/code; test ! -x deps/a/code; find deps | wc -l' }],
      };
      const base = commit({ lock: '1' });
      const first = await run(base, base, plan);
      expect(logOf(first.steps.at(-1)!)).to.match(/^good4\s*$/);
      expect(await run(base, base, plan)).to.include({ prepared: 'cached' });
      const [kept] = readdirSync(state('prepared'));
      change(state('prepared', kept!, 'deps'));
      const said: string[] = [];
      const second = await run(base, base, plan, undefined, said);
      expect(second).to.include({ passed: true, prepared: 'made' });
      expect(logOf(second.steps.at(-1)!)).to.match(/^good4\s*$/);
      expect(said).to.include(
        'the prepared dependencies are not as they were prepared; preparing them again',
      );
      expect(readdirSync(state('prepared'))).to.deep.equal([kept]);
      expect(await run(base, base, plan)).to.include({ prepared: 'cached' });
    });
  }

  it('prepares again when a lockfile or the commands changed, and says when the change touches one', async () => {
    const plan = {
      prepare: [{ name: 'get', run: 'mkdir deps; cp lock deps' }],
      prepared_paths: ['deps'],
      lockfiles: ['lock'],
      commands: [{ name: 'test', run: 'cat deps/lock' }],
    };
    const base = commit({ lock: '1' });
    const changed = commit({ lock: '2' });
    const said: string[] = [];
    const report = await run(base, changed, plan, undefined, said);
    const note = 'the change touches lock; dependencies are those of the base commit';
    expect(said).to.include(note);
    expect(logOf(report.steps[1]!)).to.equal(`[core: ${note}]\n1`);
    expect(logOf((await run(changed, changed, plan)).steps[1]!)).to.equal('2');
    const other = { ...plan, prepare: [{ name: 'get', run: 'mkdir deps; echo other >deps/lock' }] };
    expect(logOf((await run(base, base, other)).steps[1]!)).to.equal('other\n');
  });

  it('names after a failure what differs from a checkout', async () => {
    const base = commit({ '.gitattributes': '*.bat text eol=crlf\n', 'run.bat': 'x\r\n' });
    const report = await run(base, base, { commands: [{ name: 'test', run: 'false' }] });
    expect(logOf(report.steps[0]!)).to.equal(
      `[core: not as in a checkout: run.bat has its recorded line endings, and CRLF in a checkout (eol=crlf)]\n${noGit}`,
    );
  });

  it('reports a preparation that fails, runs nothing after it and keeps nothing of it', async () => {
    const base = commit({});
    const report = await run(base, base, {
      prepare: [{ name: 'get', run: 'mkdir deps; echo no; exit 4' }],
      prepared_paths: ['deps'],
      commands: [{ name: 'test', run: 'true' }],
    });
    expect(report).to.include({ passed: false, prepared: 'none' });
    expect(report.steps).to.have.length(1);
    expect(report.steps[0]).to.include({ phase: 'prepare', exit_code: 4 });
    expect(logOf(report.steps[0]!)).to.equal(`no\n${noGit}`);
    expect(readdirSync(state('prepared'))).to.deep.equal([]);
  });

  it('leaves out prepared folders that are links', async () => {
    const base = commit({});
    const report = await run(base, base, {
      prepare: [{ name: 'get', run: 'ln -s /etc deps; mkdir real; ln -s /etc real/inner' }],
      prepared_paths: ['deps', 'real/inner'],
      commands: [{ name: 'test', run: 'ls -A' }],
    });
    expect(logOf(report.steps[1]!)).to.equal('');
  });

  it('refuses a change that puts a link where dependencies belong', async () => {
    const plan = {
      prepare: [{ name: 'get', run: 'mkdir deps && touch deps/a' }],
      prepared_paths: ['deps'],
      commands: [{ name: 'test', run: 'true' }],
    };
    const base = commit({ a: '' });
    symlinkSync(root, join(root, 'repo', 'deps'));
    const changed = commit({});
    expect(await run(base, changed, plan).catch(codeOf)).to.equal('mount_point_blocked');
    expect(readdirSync(state('validation'))).to.deep.equal([]);
  });

  it('makes the same preparation twice at a time without harm', async () => {
    const base = commit({ lock: '1' });
    const plan = {
      prepare: [{ name: 'get', run: 'mkdir deps; sleep 0.2; cp lock deps' }],
      prepared_paths: ['deps'],
      lockfiles: ['lock'],
      commands: [{ name: 'test', run: 'cat deps/lock' }],
    };
    const reports = await Promise.all([run(base, base, plan), run(base, base, plan)]);
    expect(reports.map(({ passed }) => passed)).to.deep.equal([true, true]);
    expect(readdirSync(state('prepared'))).to.have.length(1);
  });

  it('is cancelled while it runs and leaves nothing', async () => {
    const base = commit({});
    const abort = new AbortController();
    const running = run(base, base, { commands: [{ name: 'slow', run: 'sleep 250' }] }, abort.signal);
    setTimeout(() => abort.abort(), 200);
    expect(await running.catch(codeOf)).to.equal('cancelled');
    expect(readdirSync(state('validation'))).to.deep.equal([]);
  });

  it('removes what the commands tried to make irremovable', async () => {
    const base = commit({});
    const deep = `node -e 'for (let i = 0; i < 300; i++) { fs.mkdirSync("long-folder-name"); process.chdir("long-folder-name"); }'`;
    const report = await run(base, base, {
      commands: [{ name: 'mess', run: `mkdir a && touch a/b && chmod 0 a; ${deep}` }],
    });
    expect(report.passed, logOf(report.steps[0]!)).to.equal(true);
    expect(readdirSync(state('validation'))).to.deep.equal([]);
  });

  it('removes at its first run what a killed process left at any time, and leaves that of others alone', async () => {
    const ours = thisProcess();
    const owners = {
      dead: { ...ours, process_started: '1' },
      alive: ours,
      elsewhere: { ...ours, boot_id: 'x' },
    };
    for (const [name, owner] of Object.entries(owners)) {
      for (const folder of [state('validation', `run-${name}`), state('prepared', `.making-${name}`)]) {
        mkdirSync(join(folder, 'workspace'), { recursive: true });
        chmodSync(join(folder, 'workspace'), 0o500);
        writeFileSync(join(folder, 'owner.json'), JSON.stringify(owner));
      }
    }
    const base = commit({});
    await run(base, base, { commands: [{ name: 'test', run: 'true' }] });
    expect(readdirSync(state('validation'))).to.deep.equal(['run-alive', 'run-elsewhere']);
    expect(readdirSync(state('prepared'))).to.deep.equal(['.making-alive', '.making-elsewhere']);
  });

  it('removes after a day what does not say whose it is', async () => {
    const old = new Date(Date.now() - 2 * 24 * 60 * 60 * 1000);
    const temporary = mkdtempSync(join(tmpdir(), 'core-sandbox-'));
    for (const path of [state('validation', 'run-old'), state('prepared', '.making-old'), temporary]) {
      mkdirSync(path, { recursive: true });
      utimesSync(path, old, old);
    }
    mkdirSync(state('validation', 'run-young'));
    const base = commit({});
    await run(base, base, { commands: [{ name: 'test', run: 'true' }] });
    expect(readdirSync(state('validation'))).to.deep.equal(['run-young']);
    expect(existsSync(state('prepared', '.making-old'))).to.equal(false);
    expect(existsSync(temporary)).to.equal(false);
  });

  const lock = { name: 'a', lockfileVersion: 3, requires: true, packages: { '': { name: 'a' } } };
  const npm = {
    prepare: [{ name: 'install', run: 'npm ci --ignore-scripts --offline' }],
    prepared_paths: ['node_modules'],
    lockfiles: ['package-lock.json', 'package.json'],
    commands: [{ name: 'test', run: 'true' }],
  };
  const project = (more: object = {}) => ({
    'package.json': JSON.stringify({ name: 'a', ...more }),
    'package-lock.json': JSON.stringify(lock),
  });

  it('never shows one repository what another one prepared', async () => {
    const base = commit(project());
    expect(await run(base, base, npm)).to.include({ prepared: 'made' });
    cpSync(join(root, 'repo'), join(root, 'copy'), { recursive: true });
    expect(await run(base, base, npm, undefined, [], 'copy')).to.include({ prepared: 'made' });
  });

  for (const source of ['detected', 'configuration', 'repository'] as const) {
    it(`prepares nothing for a new base commit with the same lockfile (${source})`, async () => {
      const plan = { ...npm, source };
      const base = commit(project());
      expect(await run(base, base, plan)).to.include({ passed: true, prepared: 'made' });
      const later = commit({ ...project({ version: '2.0.0', scripts: { test: 'mocha' } }), 'src.js': '1' });
      expect(await run(later, later, plan)).to.include({ passed: true, prepared: 'cached' });
      const other = commit({ 'package-lock.json': JSON.stringify({ ...lock, name: 'b' }) });
      expect(await run(other, other, plan)).to.include({ prepared: 'made' });
    });
  }

  for (const line of [
    'npm ci --ignore-scripts --offline; sh setup.sh',
    'X=`id` npm ci --ignore-scripts',
    'npm ci',
  ]) {
    it(`keeps what '${line}' prepares for one commit alone`, async () => {
      const plan = { ...npm, prepare: [{ name: 'install', run: `${line} || true` }] };
      const base = commit({ ...project(), 'setup.sh': 'true' });
      expect(await run(base, base, plan)).to.include({ prepared: 'made' });
      const later = commit({ 'src.js': '1' });
      expect(await run(later, later, plan)).to.include({ prepared: 'made' });
    });
  }

  it('prepares again for another commit where preparing runs files of the repository', async () => {
    const plan = {
      prepare: [{ name: 'get', run: 'sh setup.sh' }],
      prepared_paths: ['deps'],
      lockfiles: ['lock'],
      commands: [{ name: 'test', run: 'cat deps/a' }],
    };
    const make = (text: string) => commit({ lock: '1', 'setup.sh': `mkdir deps; echo ${text} >deps/a` });
    for (const source of ['repository', 'configuration', 'detected'] as const) {
      const [first, second] = [make(`${source} one`), make(`${source} two`)];
      expect(logOf((await run(first, first, { ...plan, source })).steps[1]!)).to.equal(`${source} one\n`);
      expect(logOf((await run(second, second, { ...plan, source })).steps[1]!)).to.equal(`${source} two\n`);
    }
  });

  it('says so when preparing made its folder impossible to keep', async () => {
    const base = commit({});
    const plan = {
      prepare: [{ name: 'get', run: 'mkdir node_modules; chmod 500 node_modules' }],
      prepared_paths: ['node_modules'],
      commands: [{ name: 'test', run: 'true' }],
    };
    const outcome = await run(base, base, plan).then(() => 'kept', codeOf);
    // Nothing is read-only for root, who can keep it.
    expect(outcome).to.equal(process.getuid?.() === 0 ? 'kept' : 'prepared_unusable');
  });

  it('takes files and links where tools keep a cache as they are', async () => {
    const base = commit({});
    const report = await run(base, base, {
      prepare: [
        { name: 'get', run: 'mkdir node_modules; cd node_modules; ln -s /nowhere/x .cache; echo a >.vite' },
      ],
      prepared_paths: ['node_modules'],
      commands: [{ name: 'test', run: 'readlink node_modules/.cache; cat node_modules/.vite' }],
    });
    expect(report.steps.map(logOf)).to.deep.equal(['', '/nowhere/x\na\n']);
  });

  it('runs a real npm project with an installed dependency', async () => {
    const base = commit({
      'package.json': JSON.stringify({
        name: 'hello',
        version: '1.0.0',
        scripts: { test: 'node --test' },
        dependencies: { greeting: 'file:./greeting' },
      }),
      'greeting/package.json': JSON.stringify({ name: 'greeting', version: '1.0.0', main: 'index.js' }),
      'greeting/index.js': 'module.exports = (name) => "Hello, " + name + "!";',
      'hello.test.js': "require('node:assert').equal(require('greeting')('world'), 'Hello, world!');",
    });
    const report = await run(base, base, {
      prepare: [{ name: 'install', run: 'npm install --offline --ignore-scripts --no-audit --no-fund' }],
      prepared_paths: ['node_modules'],
      lockfiles: ['package.json'],
      commands: [{ name: 'test', run: 'npm test' }],
    });
    expect(report.passed, report.steps.map(logOf).join('\n')).to.equal(true);
  });
});

function planOf(plan: Partial<ValidationPlan>): ValidationPlan {
  return {
    source: 'configuration',
    found: 'config/validation.json',
    prepare: [],
    prepare_network: false,
    prepared_paths: [],
    lockfiles: [],
    commands: [],
    covers: undefined,
    without_tests: undefined,
    programs: undefined,
    submodules: undefined,
    lfs: undefined,
    limits: { seconds: 200, memory_mib: 1024, processes: 64, disk_mib: 64, output_bytes: 65536 },
    ...plan,
  };
}

function logOf({ log }: { log: Uint8Array }): string {
  return Buffer.from(log).toString('utf8');
}

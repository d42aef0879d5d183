import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { Interrupted } from '#kit/errors.ts';
import { turn } from '../../../test/contract/run-store.sample.ts';
import {
  foldersIn,
  makeSampleHome,
  runsOf,
  type SampleHome,
  sampleKey,
} from '../../../test/fixtures/backup/sample-home.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { verifyBackup } from './archive.ts';
import { backup } from './backup.ts';
import { restore } from './restore.ts';

const silent = { begin() {}, add() {}, end() {} };
const { signal } = new AbortController();

function taken(
  sample: SampleHome,
  target: string,
  more: { withSecrets?: boolean; withMirrors?: boolean } = {},
) {
  const { folders } = sample;
  return backup({
    ...{ folders, target, withSecrets: false, withMirrors: false, ...more },
    ...{ version: '0.1.0', progress: silent, signal },
  });
}

function restored(file: string, home: string, stateOnly = false) {
  return restore({ file, folders: foldersIn(home), stateOnly, progress: silent, signal });
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

describe('a backup', () => {
  let sample: SampleHome;
  let target: string;

  beforeEach(async () => {
    sample = await makeSampleHome();
    target = temporaryFolder();
  });
  afterEach(() => sample.close());

  it('holds what cannot be made again, and comes back as it was into empty folders', async () => {
    sample.record.prepare('INSERT INTO facts VALUES (?, 1)').run(sample.runId);
    const { file, manifest } = await taken(sample, target);
    const home = join(temporaryFolder(), 'another/home');
    expect(await restored(file, home)).to.deep.equal(manifest);
    const run = `state/runs/${sample.runId}`;
    const paths = filesBelow(home);
    expect(paths).to.include.members([
      ...['config/core.json', 'state/context/record.sqlite', `${run}/events.jsonl`, `${run}/summary.json`],
      ...['state/forge/demo/hello/repository.git/HEAD', 'state/kept-by-a-later-version/large'],
    ]);
    expect(
      paths.filter((path) => /listening|scratch|index\.sqlite|holder|unfinished/.test(path)),
    ).to.deep.equal([]);
    for (const path of paths.filter((one) => !one.endsWith('.sqlite')))
      expect(readFileSync(join(home, path)).equals(readFileSync(join(sample.home, path))), path).to.equal(
        true,
      );
    const store = runsOf(home);
    expect((await store.verify(sample.runId)).problems).to.deep.equal([]);
    expect((await store.list({ limit: 10 })).runs.map(({ run_id }) => run_id)).to.deep.equal([sample.runId]);
    store.close();
    const record = new DatabaseSync(join(home, 'state/context/record.sqlite'));
    expect(record.prepare('SELECT * FROM facts').all()).to.have.length(1);
    record.close();
    const { gitDir } = sample.forge;
    const there = join(home, relative(sample.home, gitDir));
    expect(sample.forge.git('--git-dir', there, 'fsck', '--strict')).to.equal('');
    expect(sample.forge.git('--git-dir', there, 'rev-parse', 'main')).to.equal(
      sample.forge.git('rev-parse', 'main'),
    );
  });

  it('is readable by its owner alone, like everything that is restored', async () => {
    const { file } = await taken(sample, target);
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    const home = join(temporaryFolder(), 'home');
    await restored(file, home);
    for (const entry of readdirSync(home, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      // Hooks of repositories do not run any more.
      expect(statSync(path).mode & 0o777, path).to.equal(entry.isDirectory() ? 0o700 : 0o600);
    }
  });

  it('does not promise keys and tokens that lie elsewhere, as in containers', async () => {
    const folders = { ...foldersIn(sample.home), secrets: '/run/secrets' };
    const options = {
      folders,
      target,
      withSecrets: true,
      withMirrors: false,
      version: '0.1.0',
      progress: silent,
      signal,
    };
    const error = await backup(options).catch((thrown) => thrown);
    expect(error.code).to.equal('secrets_elsewhere');
    expect(error.message).to.contain('keys and tokens lie in /run/secrets');
    expect(existsSync(target) && statSync(target).isFile()).to.equal(false);
  });

  it('holds keys and tokens only when asked, and says so', async () => {
    const without = await taken(sample, join(target, 'without'));
    expect(gunzipSync(readFileSync(without.file)).includes(sampleKey)).to.equal(false);
    expect(without.manifest.left_out.map(({ what }) => what)).to.include.members([
      ...['config/secrets', 'config/tokens', 'state/scratch'],
    ]);
    const { file, manifest } = await taken(sample, join(target, 'with'), { withSecrets: true });
    expect([without.manifest.with_secrets, manifest.with_secrets]).to.deep.equal([false, true]);
    const home = join(temporaryFolder(), 'home');
    await restored(file, home);
    expect(readFileSync(join(home, 'config/secrets/github-token'), 'utf8')).to.equal(`${sampleKey}\n`);
  });

  it('holds the copies of repositories only when asked', async () => {
    const mirror = join(sample.folders.state, 'mirrors/local/demo/hello.git');
    cpSync(sample.forge.gitDir, mirror, { recursive: true });
    const without = await taken(sample, join(target, 'without'));
    expect(without.manifest.files.filter(({ path }) => path.includes('mirrors'))).to.deep.equal([]);
    expect(without.manifest.left_out.map(({ what }) => what)).to.include('state/mirrors');
    const { file, manifest } = await taken(sample, join(target, 'with'), { withMirrors: true });
    expect(manifest.left_out.map(({ what }) => what)).not.to.include('state/mirrors');
    const home = join(temporaryFolder(), 'home');
    await restored(file, home);
    const there = join(home, 'state/mirrors/local/demo/hello.git');
    expect(sample.forge.git('--git-dir', there, 'fsck', '--strict')).to.equal('');
  });

  it('leaves nothing when it is interrupted', async () => {
    const stopped = new AbortController();
    const error = await backup({
      ...{ folders: sample.folders, target, withSecrets: false, withMirrors: false, version: '0.1.0' },
      progress: { begin: () => stopped.abort(new Interrupted('interrupted', 'enough')), add() {}, end() {} },
      signal: stopped.signal,
    }).then(
      () => null,
      (cause) => cause,
    );
    expect(stopped.signal.aborted).to.equal(true);
    expect(error).to.be.an('error');
    expect(readdirSync(target)).to.deep.equal([]);
  });

  it('shows every store as it was at the cut while others write on', async () => {
    sample.record.exec('PRAGMA synchronous = OFF');
    const insert = sample.record.prepare('INSERT INTO facts VALUES (?, ?)');
    let seq = 0;
    insert.run(sample.runId, seq++);
    const writing = setInterval(() => {
      for (let one = 0; one < 20; one++) insert.run(sample.runId, seq++);
    }, 1);
    const { file } = await taken(sample, target).finally(() => clearInterval(writing));
    const home = join(temporaryFolder(), 'home');
    await restored(file, home);
    const record = new DatabaseSync(join(home, 'state/context/record.sqlite'));
    expect(record.prepare('PRAGMA integrity_check').all()).to.deep.equal([
      { __proto__: null, integrity_check: 'ok' },
    ]);
    const seqs = record.prepare('SELECT seq FROM facts ORDER BY seq').all() as { seq: number }[];
    expect(seqs).not.to.be.empty;
    expect(seqs.map((row) => row.seq)).to.deep.equal(seqs.map((_, index) => index));
    record.close();
  });

  it('ends a log with its last whole event, and leaves out views that are newer', async () => {
    const log = join(sample.folders.state, 'runs', sample.runId, 'events.jsonl');
    const whole = readFileSync(log, 'utf8');
    writeFileSync(log, '{"seq":5,"at":"2026', { flag: 'a' });
    const { file } = await taken(sample, target);
    const home = join(temporaryFolder(), 'home');
    await restored(file, home);
    expect(readFileSync(join(home, 'state/runs', sample.runId, 'events.jsonl'), 'utf8')).to.equal(whole);
    await sample.store.append(sample.runId, () => [turn()]);
  });

  it('gets a name with the time in a folder, one of its own also when two are made at once', async () => {
    const both = await Promise.all([taken(sample, target), taken(sample, target)]);
    expect(new Set(both.map(({ file }) => file))).to.have.length(2);
    for (const { file, manifest } of both) {
      expect(file).to.match(/core-backup-\d{8}T\d{6}Z(-\d+)?\.tar\.gz$/);
      expect(await verifyBackup(file, { progress: silent, signal })).to.deep.equal(manifest);
    }
    expect(readdirSync(target)).to.have.length(2);
  });

  it('takes no place that is taken, and leaves nothing where it cannot be made', async () => {
    const file = join(target, 'backup');
    writeFileSync(file, 'mine');
    const refusals = [
      [file, 'backup_exists'],
      [join(target, 'missing/backup'), 'backup_folder_missing'],
      [join(sample.folders.state, 'backup'), 'backup_inside'],
      [join(sample.folders.config, 'deep/..'), 'backup_inside'],
    ] as const;
    mkdirSync(join(sample.folders.config, 'deep'));
    for (const [place, code] of refusals) {
      const error = await taken(sample, place).then(
        () => null,
        (cause) => cause,
      );
      expect(error?.code, place).to.equal(code);
    }
    expect(readFileSync(file, 'utf8')).to.equal('mine');
    expect(readdirSync(target)).to.deep.equal(['backup']);
  });

  it('is not made of a damaged database, and names it', async () => {
    const damaged = join(sample.folders.state, 'bridge');
    mkdirSync(damaged);
    writeFileSync(join(damaged, 'queue.sqlite'), 'SQLite format 3\0'.padEnd(8_192, 'x'));
    const error = await taken(sample, target).then(
      () => null,
      (cause) => cause,
    );
    expect(error.code).to.equal('backup_store_damaged');
    expect(error.message).to.contain(join(damaged, 'queue.sqlite'));
    expect(readdirSync(target)).to.deep.equal([]);
  });

  it('names what it leaves out: links in the state folder, working copies, forges elsewhere', async () => {
    symlinkSync('/etc/passwd', join(sample.folders.state, 'link'));
    writeFileSync(
      join(sample.folders.config, 'core.json'),
      '{ "agentd": { "checkouts": { "hello": "/home/mira/hello" } } }',
    );
    writeFileSync(
      join(sample.folders.config, 'forges.json'),
      '{ "forges": [{ "name": "far", "kind": "local", "root": "/srv/forge" }] }',
    );
    const { manifest } = await taken(sample, target);
    expect(manifest.left_out).to.deep.include.members([
      { what: 'state/link', why: 'a symbolic link' },
      { what: '/home/mira/hello', why: "the working copy 'hello' of agentd.checkouts" },
      { what: '/srv/forge', why: "the forge 'far' lies outside the state folder" },
    ]);
  });

  it('restores the state alone where the configuration comes from elsewhere', async () => {
    const { file } = await taken(sample, target);
    const home = join(temporaryFolder(), 'home');
    mkdirSync(join(home, 'config'), { recursive: true });
    writeFileSync(join(home, 'config/core.json'), '{}');
    await restored(file, home, true);
    expect(readFileSync(join(home, 'config/core.json'), 'utf8')).to.equal('{}');
    expect(existsSync(join(home, 'state/runs', sample.runId))).to.equal(true);
    expect(readdirSync(join(home, 'config'))).to.deep.equal(['core.json']);
  });
});

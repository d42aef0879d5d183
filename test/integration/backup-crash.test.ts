import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { unfinishedRestoreName } from '#kit/folders.ts';
import { holdFolder } from '#kit/storage/lock.ts';
import { verifyBackup } from '../../services/supervisor/backup/archive.ts';
import { backup } from '../../services/supervisor/backup/backup.ts';
import { restore } from '../../services/supervisor/backup/restore.ts';
import { foldersIn, makeSampleHome, type SampleHome } from '../fixtures/backup/sample-home.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { runStoreIn } from '../fixtures/runs/run-store-in.ts';
import { core, type Ended, ended } from '../fixtures/world/core-command.ts';
import { type OwnMounts, smallDisk } from '../fixtures/world/own-mounts.ts';
import { itWith } from '../needs.ts';

const work = {
  progress: { begin() {}, add() {}, end() {} },
  signal: new AbortController().signal,
};

async function killed(args: readonly string[], home: string, point: string): Promise<void> {
  const { signal, stderr } = await ended(core, [...args, '--home', home], { CORE_CRASH_AT: point });
  expect(signal, `${point} was not reached: ${stderr}`).to.equal('SIGKILL');
}

async function backedUp(home: string, target = temporaryFolder()): Promise<string> {
  const options = { withSecrets: false, withMirrors: false, version: '0.1.0', ...work };
  return (await backup({ folders: foldersIn(home), target, ...options })).file;
}

async function expectWhole(home: string, runId: string): Promise<void> {
  const store = runStoreIn(foldersIn(home).state);
  expect((await store.verify(runId)).problems).to.deep.equal([]);
  store.close();
}

describe('backup and restore, cut off', () => {
  let sample: SampleHome;
  let file: string;

  before(async () => {
    sample = await makeSampleHome();
    file = await backedUp(sample.home);
  });
  after(() => sample?.close());

  for (const point of ['backup.copied', 'backup.written', 'backup.named']) {
    it(`leave no half backup, and nothing after the next one, across a kill at ${point}`, async () => {
      const target = temporaryFolder();
      await killed(['backup', target], sample.home, point);
      const files = readdirSync(target).filter((name) => !name.endsWith('.partial'));
      expect(files).to.have.length(point === 'backup.named' ? 1 : 0);
      await backedUp(sample.home, target);
      expect(readdirSync(target)).to.have.length(files.length + 1);
      for (const name of readdirSync(target)) await verifyBackup(join(target, name), work);
    });
  }

  for (const point of ['restore.unpacked', 'restore.moving', 'restore.moved', 'restore.placed']) {
    it(`leave nothing that could be taken for whole, and end when done again, across a kill at ${point}`, async () => {
      const home = join(temporaryFolder(), 'home');
      const folders = { ...foldersIn(home) };
      await killed(['restore', file], home, point);
      expect(() => foldersIn(home))
        .to.throw()
        .with.property('code', 'restore_unfinished');
      await restore({ file, folders, stateOnly: false, ...work });
      await expectWhole(home, sample.runId);
      expect(readdirSync(folders.state).filter((name) => name.startsWith('restore.'))).to.deep.equal([]);
    });
  }

  for (const point of ['restore.moving', 'restore.moved', 'restore.placed']) {
    it(`keep services from parts on disks of their own, and take nothing from who is there all the same, across a kill at ${point}`, async () => {
      const home = join(temporaryFolder(), 'home');
      const part = join(home, 'state/context');
      mkdirSync(part, { recursive: true });
      const { ino } = statSync(part);
      const service = () => holdFolder(part, { code: 'record_held', name: 'the record' });
      const folders = { ...foldersIn(home) };
      await killed(['restore', file], home, point);
      expect(service).to.throw().with.property('code', 'restore_unfinished');

      rmSync(join(part, unfinishedRestoreName), { recursive: true });
      const running = service();
      writeFileSync(join(part, 'theirs'), '');
      const again = () => restore({ file, folders, stateOnly: false, ...work });
      expect((await again().catch((error) => error)).code).to.equal('restore_in_use');
      expect(existsSync(join(part, 'theirs'))).to.equal(true);
      running.release();
      rmSync(join(part, 'theirs'));

      await again();
      await expectWhole(home, sample.runId);
      expect(statSync(part).ino).to.equal(ino);
      expect(readdirSync(part)).to.include('record.sqlite').and.not.to.include(unfinishedRestoreName);
      service().release();
    });
  }

  it('are whole where only the cleaning up was cut off', async () => {
    const home = join(temporaryFolder(), 'home');
    await killed(['restore', file], home, 'restore.retired:2');
    await expectWhole(home, sample.runId);
    const again = join(temporaryFolder(), 'home');
    const second = await backedUp(home);
    await restore({ file: second, folders: foldersIn(again), stateOnly: false, ...work });
    await expectWhole(again, sample.runId);
    expect(readdirSync(join(again, 'state')).filter((name) => name.startsWith('restore.'))).to.deep.equal([]);
  });
});

describe('backup and restore on a full disk', () => {
  let disk: OwnMounts | undefined;
  after(() => disk?.close());

  itWith(['mounts'], 'say so, leave nothing, and succeed when there is room', async () => {
    const sample = await makeSampleHome();
    const file = await backedUp(sample.home);
    sample.close();
    const place = join(temporaryFolder(), 'home');
    const small = join(place, 'state');
    mkdirSync(small, { recursive: true });
    disk = await smallDisk(place, 4);
    const [program, ...enter] = disk.enter;
    const there = (args: readonly string[]): Promise<Ended> =>
      ended(program!, [...enter, core, ...args, '--json']);
    const commands = [
      ['backup', join(small, 'backup'), '--home', sample.home],
      ['restore', file, '--home', join(small, 'restored')],
    ];
    disk.fill(64 * 1024);
    for (const args of commands) {
      const { code, stderr } = await there(args);
      expect(JSON.parse(stderr).error.code, stderr).to.equal('disk_full');
      expect(code).to.equal(5);
      expect(readdirSync(disk.state)).to.deep.equal(['filling']);
    }
    disk.free();
    for (const args of commands) {
      const { code, stderr } = await there(args);
      expect(code, stderr).to.equal(0);
    }
  });
});

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { announceService } from '#kit/config/running-service.ts';
import { resolveFolders, unfinishedRestoreName } from '#kit/folders.ts';
import { holdFolder } from '#kit/storage/lock.ts';
import { thisProcess } from '#kit/storage/process-identity.ts';
import { foldersIn } from '../../../test/fixtures/backup/sample-home.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { openRestoreTarget, type Root } from './restore-target.ts';

const both: readonly Root[] = ['state', 'config'];

describe('the place of a restore', () => {
  let home: string;

  beforeEach(() => {
    home = join(temporaryFolder(), 'home');
  });

  function refusal(roots = both): { code: string; message: string } {
    try {
      openRestoreTarget(foldersIn(home), roots).discard();
    } catch (error) {
      return error as { code: string; message: string };
    }
    return { code: 'taken', message: '' };
  }

  it('must be empty, and nothing is made where it is not', () => {
    for (const root of both) {
      home = join(temporaryFolder(), 'home');
      mkdirSync(join(home, root), { recursive: true });
      for (const name of ['a', 'b', 'c', 'd']) writeFileSync(join(home, root, name), '');
      const { code, message } = refusal();
      expect(code).to.equal('restore_not_empty');
      expect(message).to.contain(`the ${root} folder`).and.to.contain('it holds a, b, c and 1 more');
      expect(readdirSync(home)).to.deep.equal([root]);
    }
    expect(refusal(['state']).code).to.equal('taken');
  });

  it('is refused where services run, with who it is', () => {
    const { state } = foldersIn(home);
    const note = { holder: thisProcess(), since: new Date().toISOString(), services: {}, left: {} };
    const address = { url: 'http://127.0.0.1:7817', host: '127.0.0.1', port: 7817 };
    const announced = announceService('core-agentd', { state }, address);
    expect(refusal().message).to.contain('in use by core-agentd at http://127.0.0.1:7817');
    announced.withdraw();
    mkdirSync(join(state, 'supervisor'), { recursive: true });
    writeFileSync(join(state, 'supervisor/stack.json'), JSON.stringify(note));
    const { code, message } = refusal();
    expect(code).to.equal('restore_in_use');
    expect(message).to.contain(`in use by core up, process ${process.pid} on `);
  });

  it('is used by nobody else meanwhile, and as it was after it is discarded', () => {
    const target = openRestoreTarget(foldersIn(home), both);
    expect(() => foldersIn(home)).to.throw(/a restore into .* has not come to its end/);
    const folders = {
      ...resolveFolders({}, {} as never),
      state: join(home, 'state'),
      config: join(home, 'config'),
    };
    expect(() => openRestoreTarget(folders, both)).to.throw(/a restore in .* is held by process/);
    target.discard();
    expect(existsSync(home)).to.equal(false);
  });

  it('refuses what came meanwhile, and leaves it there', () => {
    const target = openRestoreTarget(foldersIn(home), both);
    writeFileSync(join(target.staging('state'), 'restored'), '');
    writeFileSync(join(home, 'state/came'), '');
    expect(() => target.publish()).to.throw(/must be empty; it holds came/);
    target.discard();
    expect(readdirSync(join(home, 'state'))).to.deep.equal(['came']);
  });

  it('holds everything, and nothing of the restore, after it is published', () => {
    const target = openRestoreTarget(foldersIn(home), both);
    writeFileSync(join(target.staging('state'), 'one'), '');
    mkdirSync(join(target.staging('config'), 'two'));
    target.publish();
    expect(readdirSync(join(home, 'state'))).to.deep.equal(['one']);
    expect(readdirSync(join(home, 'config'))).to.deep.equal(['two']);
    expect(existsSync(join(home, 'state', unfinishedRestoreName))).to.equal(false);
  });

  it('may have folders that are empty, which keep their place and take what belongs into them', () => {
    const mounted = join(home, 'state/context');
    mkdirSync(mounted, { recursive: true });
    mkdirSync(join(home, 'state/bus'));
    const { ino } = statSync(mounted);
    const target = openRestoreTarget(foldersIn(home), both);
    mkdirSync(join(target.staging('state'), 'context/record'), { recursive: true });
    writeFileSync(join(target.staging('state'), 'context/record/one'), '1');
    target.publish();
    expect(readdirSync(join(home, 'state')).toSorted()).to.deep.equal(['bus', 'context']);
    holdFolder(mounted, { code: 'record_held', name: 'the record' }).release();
    expect(statSync(mounted).ino).to.equal(ino);
    expect(readFileSync(join(mounted, 'record/one'), 'utf8')).to.equal('1');
  });

  it('is refused where a service holds a part of it, and leaves that part alone', () => {
    const part = join(home, 'state/context');
    mkdirSync(part, { recursive: true });
    const hold = holdFolder(part, { code: 'record_held', name: 'the record' });
    const { code, message } = refusal();
    expect(code).to.equal('restore_in_use');
    expect(message).to.contain(`what is restored in ${part} is held by process ${process.pid} on `);
    expect(readdirSync(part)).not.to.include(unfinishedRestoreName);
    expect(readdirSync(join(home, 'state'))).to.deep.equal(['context']);
    hold.release();
    expect(refusal().code).to.equal('taken');
  });
});

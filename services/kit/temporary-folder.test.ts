import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { codeOf, messageOf } from './errors.ts';
import { makeTemporaryFolder } from './temporary-folder.ts';

describe('A temporary folder', () => {
  const before = process.env.TMPDIR;
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'core-temporary-'));
  });
  afterEach(() => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    rmSync(folder, { recursive: true, force: true });
  });

  it('is made in the folder of TMPDIR, for this user only', () => {
    process.env.TMPDIR = folder;
    const made = makeTemporaryFolder('core-test-');
    expect(made.startsWith(`${folder}/core-test-`)).to.equal(true);
    expect(statSync(made).mode & 0o777).to.equal(0o700);
  });

  it('is refused with the name of the folder, the reason and what to set', () => {
    const [file, closed] = [join(folder, 'file'), join(folder, 'closed')];
    writeFileSync(file, '');
    mkdirSync(closed);
    chmodSync(closed, 0o500);
    const reasons: Readonly<Record<string, RegExp>> = {
      [join(folder, 'missing')]: /there is no such folder/,
      [file]: /it is not a folder/,
      'some/folder': /must be an absolute path/,
      // root may write everywhere but in the kernel's own folders.
      [process.getuid?.() === 0 ? '/proc' : closed]: /may not write there|no such folder/,
    };
    for (const [path, reason] of Object.entries(reasons)) {
      process.env.TMPDIR = path;
      try {
        makeTemporaryFolder('core-test-');
        expect.fail(`made in ${path}`);
      } catch (error) {
        expect(codeOf(error)).to.equal('temporary_folder_unusable');
        expect(messageOf(error)).to.contain(path).and.to.match(reason);
      }
    }
  });
});

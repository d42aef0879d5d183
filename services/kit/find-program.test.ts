import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../test/fixtures/repositories/temporary-folder.ts';
import { findProgram } from './find-program.ts';

describe('Looking for a program', () => {
  it('passes over folders, and files that may not be executed', () => {
    const root = temporaryFolder();
    const folders = ['folder', 'file', 'program', 'later'].map((name) => join(root, name));
    for (const folder of folders) mkdirSync(folder);
    const [folder, file, program, later] = folders.map((one) => join(one, 'core-tool')) as [
      string,
      ...string[],
    ];
    mkdirSync(folder);
    for (const path of [file!, program!, later!]) writeFileSync(path, '#!/bin/sh\n');
    for (const path of [program!, later!]) chmodSync(path, 0o755);
    expect(findProgram('core-tool', folders.join(delimiter))).to.equal(program);
    expect(findProgram('core-tool', folders.slice(0, 2).join(delimiter))).to.equal(null);
    expect(findProgram('ldconfig', 'relative')).to.match(/sbin\/ldconfig$/);
  });
});

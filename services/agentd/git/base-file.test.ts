import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect } from 'chai';
import { mirrorFolder } from '#kit/git/mirror-folder.ts';
import { makeRepository } from '../../../test/fixtures/repositories/repository.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import type { Target } from '../action.ts';
import { readBaseFile } from './base-file.ts';

describe('A file before a change', () => {
  it('is read from the mirror, and refused where it is not there or too large', async () => {
    const { dir } = makeRepository({ 'a b.js': 'one\n', 'large.txt': 'x'.repeat(21 * 1024 * 1024) });
    const stateDir = temporaryFolder();
    const mirror = mirrorFolder(stateDir, 'local/demo/hello');
    mkdirSync(dirname(mirror), { recursive: true });
    execFileSync('git', ['clone', '--quiet', '--bare', dir, mirror]);
    const base_commit = execFileSync('git', ['-C', dir, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
    const target = { forge: 'local', owner: 'demo', repo: 'hello', base_commit } as Target;
    expect(String(await readBaseFile(stateDir, target, 'a b.js'))).to.equal('one\n');
    const refusal = (path: string, where = stateDir) =>
      readBaseFile(where, target, path).catch(({ code }) => code);
    for (const path of ['none.js', 'a b.js\nHEAD'])
      expect(await refusal(path), path).to.equal('base_file_not_found');
    expect(await refusal('a b.js', temporaryFolder())).to.equal('base_file_not_found');
    expect(await refusal('large.txt')).to.equal('base_file_too_large');
  });
});

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { expect } from 'chai';
import { codeOf } from '#kit/errors.ts';
import { searchPath, toolPaths } from './tool-paths.ts';

describe('Tool paths of a sandbox', () => {
  let root = '';
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'core-tools-test-')));
    mkdirSync(join(root, 'home', '.cargo', 'bin'), { recursive: true });
    mkdirSync(join(root, 'home', 'state'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function refusal(path: string): string {
    try {
      toolPaths([path], [join(root, 'home'), join(root, 'home', 'state')]);
      return 'allowed';
    } catch (error) {
      return codeOf(error);
    }
  }

  it('allows a folder of tools, below home too', () => {
    expect(refusal(join(root, 'home', '.cargo'))).to.equal('allowed');
  });

  it('refuses what would show home or state, also by a link or with dots', () => {
    symlinkSync(root, join(root, 'home', '.cargo', 'up'));
    for (const path of ['', 'home', 'home/', 'home/state', 'home/.cargo/..', 'home/.cargo/up']) {
      expect(refusal(`${root}/${path}`), path).to.equal('tool_path_not_allowed');
    }
    expect(refusal('/')).to.equal('tool_path_not_allowed');
  });

  it('refuses relative paths and folders that are not there', () => {
    expect(refusal('tools')).to.equal('tool_path_not_allowed');
    expect(refusal(join(root, 'nothing'))).to.equal('tool_path_not_allowed');
  });

  it('puts configured tools first on PATH and the Node of this process before the system', () => {
    const cargo = join(root, 'home', '.cargo');
    const folders = searchPath(toolPaths([cargo], [])).split(delimiter);
    expect(folders[0]).to.equal(join(cargo, 'bin'));
    expect(folders).to.include(dirname(process.execPath));
    expect(folders.indexOf(dirname(process.execPath))).to.be.at.most(folders.indexOf('/usr/bin'));
  });
});

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { credentialFiles, hiddenCredentials, isInPackage } from './credential-files.ts';
import { codeOf } from './errors.ts';

describe('The search for credentials files', () => {
  let root = '';
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'core-credentials-')));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('refuses a folder with more entries than the limit instead of leaving some out', () => {
    mkdirSync(join(root, 'a/b'), { recursive: true });
    writeFileSync(join(root, 'a/b/.netrc'), '');
    expect(credentialFiles(root, 3)).to.have.lengthOf(1);
    expect(() => credentialFiles(root, 2)).to.throw(
      `tool_paths: '${root}' has more than 2 files and folders, too many to search for credentials`,
    );
  });

  it('counts what links to folders lead to, and ends where they lead in a circle', () => {
    mkdirSync(join(root, 'a'));
    symlinkSync('..', join(root, 'a/up'));
    writeFileSync(join(root, 'a/credentials.toml'), '');
    expect(credentialFiles(root, 4)).to.deep.equal([
      { path: join(root, 'a/credentials.toml'), kind: 'file' },
    ]);
    expect(() => credentialFiles(root, 3)).to.throw('more than 3 files');
  });

  it('refuses more files than a sandbox can hide', async () => {
    for (let number = 0; number < 501; number += 1) {
      mkdirSync(join(root, String(number)));
      writeFileSync(join(root, String(number), '.netrc'), '');
    }
    const refused = await hiddenCredentials([root]).catch((error: unknown) => error);
    expect(codeOf(refused)).to.equal('tool_path_not_allowed');
    expect(String(refused)).to.contain('501 credentials files; a sandbox can hide at most 500');
  });

  it('takes long names of copies in no time', () => {
    for (const part of ['.bak', '-1', '~', '._', ' (copy)', '#']) {
      writeFileSync(join(root, `credentials${part.repeat(Math.floor(240 / part.length))}!`), '');
    }
    const began = performance.now();
    credentialFiles(root);
    expect(performance.now() - began).to.be.below(1000);
  });

  it('lets other work of the process run meanwhile', async () => {
    for (let folder = 0; folder < 200; folder += 1) {
      mkdirSync(join(root, String(folder)));
      for (let file = 0; file < 60; file += 1)
        writeFileSync(join(root, String(folder), `${file}.npmrc.env`), '');
      writeFileSync(join(root, String(folder), '.npmrc'), 'x'.repeat(200_000));
    }
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
    }, 1);
    try {
      await hiddenCredentials([root]);
    } finally {
      clearInterval(timer);
    }
    expect(ticks).to.be.above(0);
  });

  it('knows the layouts in which package managers unpack packages', () => {
    const samples = ['node_modules/ssh2/test/id_rsa', 'node_modules/@a/b/.netrc', 'site-packages/x/.pypirc'];
    const cargo = '.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/netrc-1.0.0/.netrc';
    const go = 'go/pkg/mod/example.org/x@v1.0.0/.netrc';
    for (const path of [...samples, cargo, go]) expect(isInPackage(`/h/${path}`), path).to.equal(true);
    const others = ['node_modules/.npmrc', 'node_modules/@a/.npmrc', 'site-packages/.pypirc', 'mod/x/.netrc'];
    const registries = ['registry/credentials.toml', 'registry/src/x/.netrc', 'pkg/mod/.netrc'];
    for (const path of [...others, ...registries]) expect(isInPackage(`/h/${path}`), path).to.equal(false);
  });
});

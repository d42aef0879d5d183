import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { decodeJson } from '#kit/decode.ts';
import type { FileChange } from '../action.ts';
import { assessPatch } from '../actions/apply-patch.ts';
import type { ChangeFacts } from '../actions/kind.ts';
import { Policy } from '../policy.ts';
import { guardedPaths } from './change-checks.ts';

const policy = decodeJson(
  Policy,
  readFileSync(new URL('../../../config/policy.json', import.meta.url), 'utf8'),
  'policy.json',
);

function file(path: string, added = 1, removed = 0): FileChange {
  return { path, old_path: null, status: 'modified', added, removed, old_mode: '100644', new_mode: '100644' };
}

function change(files: FileChange[], more: Partial<ChangeFacts> = {}): ChangeFacts {
  const facts = {
    reaches_out: [],
    untrusted: [],
    validation_files: [],
    install_scripts: [],
    rejected_before: 0,
    untested: [],
    repair: null,
    displaces: null,
    patch_by: { kind: 'model' as const, model: 'large' },
  };
  return { files, ...guardedPaths(files, policy), ...facts, ...more };
}

describe('the risk of a patch', () => {
  it('is low for a few lines in a few files', () => {
    const { risk, score, reasons } = assessPatch(change([file('src/a.js', 6, 2), file('test/a.js')]), policy);
    expect({ risk, score, reasons }).to.deep.equal({ risk: 'low', score: 4, reasons: [] });
  });

  it('rises when an outsider led to it, and says whose text it was', () => {
    const { score, reasons } = assessPatch(
      change([file('src/a.js')], { untrusted: ['demo/hello#1 by mira'] }),
      policy,
    );
    expect(score).to.equal(12);
    expect(reasons.join()).to.contain('demo/hello#1 by mira');
  });

  for (const path of [
    '.github/workflows/ci.yml',
    '.github/workflows/.hidden.yml',
    '.GitHub/Workflows/ci.yml',
    'package-lock.json',
    'web/yarn.lock',
    '.husky/_/pre-commit',
    '.core.json',
    'native/build.rs',
    '.gitmodules',
    'GNUmakefile',
    'makefile',
    'lib/Makefile.inc',
    'rules.mk',
    '.mocharc.cjs',
    'web/.mocharc.json',
    'jest.config.js',
    'vitest.config.ts',
    'karma.conf.js',
    'ava.config.mjs',
    '.taprc',
    'babel.config.js',
    'node_modules/.bin/mocha',
    'node_modules',
    'web/node_modules/a/index.js',
    'conftest.py',
    'tests/conftest.py',
    'pytest.ini',
    '.pytest.ini',
    'tox.ini',
    'setup.cfg',
    'pyproject.toml',
    'sitecustomize.py',
    'pytest.py',
    'pytest/__main__.py',
    'plugin.dist-info/entry_points.txt',
    '.cargo/config.toml',
    'rust-toolchain',
    'rust-toolchain.toml',
    '.mvn',
    '.mvn/jvm.config',
    'mvnw',
    'mvnw.cmd',
    'go.work',
    'vendor/modules.txt',
    'web/.npmrc',
    '.yarnrc.yml',
    '.yarn/releases/yarn.cjs',
    '.pnp.cjs',
    '.pnpmfile.cjs',
    '.env',
    '.env.test',
    '.envrc',
  ]) {
    it(`is critical for ${path}`, () => {
      expect(assessPatch(change([file(path)]), policy).risk).to.equal('critical');
    });
  }

  for (const path of ['docs/makefiles.md', 'src/environment.js', 'src/pytest-report.js', 'vendor/a/b.go']) {
    it(`stays low for ${path}`, () => {
      expect(assessPatch(change([file(path)]), policy).risk).to.equal('low');
    });
  }

  it('is critical when a critical file is renamed away', () => {
    const moved: FileChange = {
      ...file('docs/ci.yml'),
      old_path: '.github/workflows/ci.yml',
      status: 'renamed',
    };
    expect(assessPatch(change([moved]), policy).risk).to.equal('critical');
  });

  it('is critical when the change touches what the validation does', () => {
    expect(assessPatch(change([file('Makefile')], { validation_files: ['Makefile'] }), policy).risk).to.equal(
      'critical',
    );
  });

  it('never passes 100 and caps what size alone can add', () => {
    const many = Array.from({ length: 400 }, (_, index) => file(`src/${index}.js`, 500));
    const { score, risk } = assessPatch(change(many), policy);
    expect(score).to.be.at.most(100);
    expect(risk).to.equal('medium');
  });

  it('is high for a patch of an outsider in place of one of the author, and names both', () => {
    const displaces =
      'the patch of eve (comment 2 by eve), an outsider, is proposed because that of mira cannot be used';
    const { risk, reasons } = assessPatch(change([file('src/a.js')], { displaces }), policy);
    expect([risk, reasons]).to.deep.equal(['high', [displaces]]);
  });

  it('is high for a symbolic link', () => {
    expect(assessPatch(change([{ ...file('a'), new_mode: '120000' }]), policy).risk).to.equal('high');
  });
});

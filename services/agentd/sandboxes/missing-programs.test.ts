import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { missingPrograms, missingProgramsText, programsOf } from './missing-programs.ts';

describe('Programs that a validation calls', () => {
  let root = '';
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'core-programs-test-')));
    mkdirSync(join(root, '.local/bin'), { recursive: true });
    mkdirSync(join(root, 'lib/node_modules/pnpm/bin'), { recursive: true });
    mkdirSync(join(root, 'config'));
    writeFileSync(join(root, '.local/bin/just'), '');
    writeFileSync(join(root, 'lib/node_modules/pnpm/bin/pnpm.cjs'), '');
    symlinkSync('../../lib/node_modules/pnpm/bin/pnpm.cjs', join(root, '.local/bin/pnpm'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const onPath = (name: string) => (['just', 'pnpm'].includes(name) ? join(root, '.local/bin', name) : null);
  const missing = (command: string, ...tool_paths: string[]) =>
    missingPrograms([command], { kind: 'bubblewrap', tool_paths }, [root, join(root, 'config')], onPath);

  it('are the first words of its commands', () => {
    expect(programsOf('pnpm install --frozen-lockfile && CI=1 pnpm test | tee log')).to.deep.equal([
      'pnpm',
      'pnpm',
      'tee',
    ]);
    expect(programsOf('HOME="$PWD/a home" cargo test; cd sub && (make all)')).to.deep.equal([
      'cargo',
      'make',
    ]);
    expect(programsOf('if test -f x; then ./run; else exec node --test; fi')).to.deep.equal(['node']);
    expect(programsOf("echo 'a && b' > out; $TOOL x; npm test 2>&1")).to.deep.equal(['npm']);
  });

  it('are found in the system and in the folders that the sandbox shows', () => {
    expect(missing('ls && sh -c true')).to.deep.equal([]);
    expect(missing('just test', join(root, '.local/bin'))).to.deep.equal([]);
  });

  it('come with the folders that the sandbox lacks, for a link also that of its package', () => {
    const path = join(root, '.local/bin/pnpm');
    const folders = [join(root, '.local/bin'), join(root, 'lib/node_modules/pnpm')];
    expect(missing('pnpm test')).to.deep.equal([{ name: 'pnpm', path, folders }]);
    expect(missing('pnpm test', folders[0]!)).to.deep.equal([{ name: 'pnpm', path, folders: [folders[1]] }]);
    expect(missing('pnpm test', ...folders)).to.deep.equal([]);
  });

  it('are named with the lines to add and the file', () => {
    const file = join(root, 'config/validation.json');
    const line = `"tool_paths": ["/opt/tools", "${join(root, '.local/bin')}"]`;
    const text = () => missingProgramsText(missing('just test'), ['/opt/tools'], file).split('\n');
    expect(text()[0]).to.contain('just').and.to.contain(`In ${file} put`);
    expect(text()[1]).to.equal(`  { ${line} }`);
    writeFileSync(file, '{}');
    expect(text()[1]).to.equal(`  ${line}`);
  });

  it('are said not to be installed where this machine has none', () => {
    const text = missingProgramsText(missing('no-such-tool'), [], join(root, 'config/validation.json'));
    expect(text).to.equal('the validation calls no-such-tool, which is not installed on this machine');
  });
});

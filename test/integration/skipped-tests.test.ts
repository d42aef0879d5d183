import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { execa } from 'execa';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('tests that this machine cannot run', () => {
  for (const parallel of [false, true]) {
    it(`are listed once for each missing thing, with what provides it, parallel: ${parallel}`, async () => {
      const { exitCode, stdout } = await mocha({ parallel });
      expect(exitCode, stdout).to.equal(0);
      expect(stdout)
        .to.match(/1 passing.*\n.*3 pending/)
        .and.not.match(/failing/);
      expect(stdout.slice(stdout.indexOf('Skipped')).trim().split('\n')).to.deep.equal([
        'Skipped, with what runs them: 3 tests',
        '',
        '  jj: cargo install --locked --version 0.41.0 jj-cli  (3 tests)',
        '    a suite',
        '    another suite › tries a third',
      ]);
    });
  }

  it('are left to npm run test:all by npm test where they take long, also where everything is provided', async () => {
    const { exitCode, stdout } = await mocha({ env: { CI: 'true', CORE_TESTS: 'quick' } });
    expect(exitCode, stdout).to.equal(0);
    expect(stdout).to.include(
      '  jj: npm run test:all, after cargo install --locked --version 0.41.0 jj-cli  (3 tests)',
    );
  });

  it('fail where everything is provided', async () => {
    const { exitCode, stdout } = await mocha({ env: { CI: 'true' } });
    expect(exitCode).to.equal(2);
    expect(stdout)
      .to.include('needs jj: cargo install')
      .and.match(/1 passing.*\n.*2 failing/);
  });
});

function mocha({ parallel = false, env = {} }: { parallel?: boolean; env?: Record<string, string> }) {
  const options = [
    '--no-config',
    '--reporter',
    'test/support/reporter.ts',
    ...(parallel ? ['--parallel'] : []),
  ];
  return execa(
    process.execPath,
    ['node_modules/mocha/bin/mocha.js', ...options, 'test/fixtures/skipped-suite.ts'],
    {
      cwd: root,
      extendEnv: false,
      env: { PATH: dirname(process.execPath), ...env },
      reject: false,
    },
  );
}

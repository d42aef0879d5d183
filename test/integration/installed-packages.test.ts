import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { execa } from 'execa';
import manifest from '../../package.json' with { type: 'json' };
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly engines?: Readonly<Record<string, string>>;
  readonly os?: string | readonly string[];
  readonly cpu?: string | readonly string[];
}

interface Lockfile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

const root = fileURLToPath(new URL('../../', import.meta.url));

describe('The packages that npm ci installs', () => {
  for (const file of ['package-lock.json', 'site/package-lock.json']) {
    it(`are all verified by digest and bound to no registry: ${file}`, () => {
      const packages = Object.entries(lockfile(file).packages).filter(([path]) => path !== '');
      expect(packages.length).to.be.greaterThan(100);
      expect(packages.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).to.deep.equal([]);
      expect(packages.filter(([, { resolved }]) => resolved !== undefined)).to.deep.equal([]);
    });
  }

  it('bring the same Node to each platform', () => {
    const { packages } = lockfile('package-lock.json');
    const names = Object.keys(manifest.optionalDependencies);
    const nodes = names.map((name) => packages[`node_modules/${name}`]!);
    expect(nodes.map(({ os, cpu }) => [os, cpu].flat().join(' '))).to.have.members([
      'linux x64',
      'linux arm64',
      'darwin x64',
      'darwin arm64',
      'win32 x64',
    ]);
    const versions = new Set([
      ...nodes.map(({ version }) => version),
      ...Object.values(manifest.optionalDependencies),
    ]);
    expect([...versions], 'one version').to.have.length(1);
    expect(Number.parseInt([...versions][0]!, 10)).to.be.at.least(24);
  });

  it('are installed without a warning where npm runs on an older Node than they need', async () => {
    const folder = temporaryFolder();
    for (const file of ['package.json', '.npmrc']) cpSync(join(root, file), join(folder, file));
    const { packages, ...rest } = lockfile('package-lock.json');
    const neverMet = { ...packages['node_modules/koa'], engines: { node: '>=999' } };
    const lock = { ...rest, packages: { ...packages, 'node_modules/koa': neverMet } };
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
    const { stderr } = await execa('npm', ['ci', '--dry-run', '--no-audit', '--no-fund'], {
      cwd: folder,
      env: { npm_config_loglevel: undefined },
    });
    expect(stderr).to.equal('');
  });
});

function lockfile(file: string): Lockfile {
  return JSON.parse(readFileSync(join(root, file), 'utf8')) as Lockfile;
}

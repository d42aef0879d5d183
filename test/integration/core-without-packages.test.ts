import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { execa } from 'execa';
import { environment } from '#kit/environment.ts';
import manifest from '../../package.json' with { type: 'json' };
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const programs: readonly string[] = Object.values(manifest.bin);

describe('The programs in a clean clone', () => {
  it('say how to go on where npm ci has not been run, with Docker alone too', async () => {
    const clone = cloneOf(programs);
    for (const program of programs)
      for (const path of [environment.PATH ?? '', pathWithoutNode()]) {
        const { exitCode, stderr } = await run(join(clone, program), path);
        expect(exitCode, program).to.equal(1);
        expect(stderr, program).to.contain('npm ci').and.to.contain('docker compose run --rm secrets');
        expect(stderr, program).to.not.match(/^ +at /m);
      }
  });

  const news = 'npm ci brings one beside it, unless optional packages are left out.';
  for (const [here, path] of [
    ['none', pathWithoutNode],
    ['v20.20.2', pathWithOldNode],
  ] as const) {
    it(`name the Node that they need where there is ${here}`, async () => {
      const clone = cloneOf(programs);
      mkdirSync(join(clone, 'node_modules'));
      for (const program of programs) {
        const { exitCode, stderr } = await run(join(clone, program), path());
        expect(exitCode, program).to.equal(1);
        expect(stderr, program).to.equal(`core: needs Node 24 or newer; here is ${here}. ${news}`);
      }
    });
  }
});

function cloneOf(paths: readonly string[]): string {
  const clone = temporaryFolder();
  for (const path of paths) {
    mkdirSync(dirname(join(clone, path)), { recursive: true });
    cpSync(join(root, path), join(clone, path), { verbatimSymlinks: true });
  }
  return clone;
}

/** What a shell script needs of the machine, and nothing else. */
function pathWithoutNode(): string {
  const folder = temporaryFolder();
  for (const name of ['readlink', 'dirname']) symlinkSync(`/usr/bin/${name}`, join(folder, name));
  return folder;
}

/** And a Node as distributions have it, which knows none of our syntax. */
function pathWithOldNode(): string {
  const folder = pathWithoutNode();
  const old = '#!/bin/sh\n[ "$1" = --version ] && echo v20.20.2 && exit\n[ "$1" = -e ] && exit 1\nexit 9\n';
  writeFileSync(join(folder, 'node'), old, { mode: 0o755 });
  return folder;
}

function run(program: string, PATH: string) {
  return execa('/bin/sh', [program, 'secrets', 'init'], { reject: false, extendEnv: false, env: { PATH } });
}

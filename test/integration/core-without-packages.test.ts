import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { execa } from 'execa';
import { environment } from '#kit/environment.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const programs = ['core', 'services/agentd/cli/core-agentd', 'services/status/cli/core-status'];

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

  it('name the Node that they need where there is none, or an old one', async () => {
    const clone = cloneOf(['core']);
    mkdirSync(join(clone, 'node_modules'));
    const { exitCode, stderr } = await run(join(clone, 'core'), pathWithoutNode());
    expect(exitCode).to.equal(1);
    expect(stderr).to.equal(
      'core: needs Node 24 or newer; here is none. npm ci brings one beside it, unless optional packages are left out.',
    );
  });
});

function cloneOf(paths: readonly string[]): string {
  const clone = temporaryFolder();
  for (const path of paths) {
    mkdirSync(dirname(join(clone, path)), { recursive: true });
    cpSync(join(root, path), join(clone, path));
  }
  return clone;
}

/** What a shell script needs of the machine, and nothing else. */
function pathWithoutNode(): string {
  const folder = temporaryFolder();
  for (const name of ['readlink', 'dirname']) symlinkSync(`/usr/bin/${name}`, join(folder, name));
  return folder;
}

function run(program: string, PATH: string) {
  return execa('/bin/sh', [program, 'secrets', 'init'], { reject: false, extendEnv: false, env: { PATH } });
}

import { execFile } from 'node:child_process';
import { readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import manifest from '../../package.json' with { type: 'json' };
import { temporaryFolder } from '../../test/fixtures/repositories/temporary-folder.ts';
import { core } from '../../test/fixtures/world/core-command.ts';

const run = promisify(execFile);

describe('core install', () => {
  it('links every program of package.json, each of which starts from there, and takes the links away', async () => {
    const dir = join(temporaryFolder(), 'bin');
    const { stdout } = await run(core, ['install', '--dir', dir]);
    const line = stdout.split('\n').find((text) => text.startsWith('export PATH='))!;
    expect((await run('sh', ['-c', `${line}\ncommand -v core`])).stdout).to.equal(`${dir}/core\n`);
    const names = Object.keys(manifest.bin).toSorted();
    expect(readdirSync(dir).toSorted()).to.deep.equal(names);
    for (const [name, path] of Object.entries(manifest.bin)) {
      expect(readlinkSync(join(dir, name))).to.equal(
        fileURLToPath(new URL(`../../${path.replace('./', '')}`, import.meta.url)),
      );
      expect(realpathSync(join(dir, name))).to.equal(realpathSync(core));
      expect((await run(join(dir, name), ['--version'])).stdout, name).to.equal(`${manifest.version}\n`);
    }
    await run(core, ['install', '--dir', dir, '--remove']);
    expect(readdirSync(dir)).to.deep.equal([]);
  });

  it('names the home folder in the line for PATH by its variable', async () => {
    const env = { ...process.env, HOME: temporaryFolder() };
    const { stdout } = await run(core, ['install'], { env });
    expect(stdout).to.contain('\nexport PATH="$HOME/.local/bin:$PATH"\n');
  });
});

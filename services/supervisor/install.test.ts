import { execFile } from 'node:child_process';
import { readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import manifest from '../../package.json' with { type: 'json' };
import { temporaryFolder } from '../../test/fixtures/repositories/temporary-folder.ts';
import { core } from '../../test/fixtures/world/core-command.ts';

const run = promisify(execFile);

describe('core install', () => {
  it('links every program of package.json, each of which starts from there, and takes the links away', async () => {
    const dir = join(temporaryFolder(), 'bin');
    await run(core, ['install', '--dir', dir]);
    const names = Object.keys(manifest.bin).toSorted();
    expect(readdirSync(dir).toSorted()).to.deep.equal(names);
    for (const [name, path] of Object.entries(manifest.bin)) {
      expect(readlinkSync(join(dir, name))).to.equal(
        new URL(`../../${path.replace('./', '')}`, import.meta.url).pathname,
      );
      expect(realpathSync(join(dir, name))).to.equal(realpathSync(core));
      expect((await run(join(dir, name), ['--version'])).stdout, name).to.equal(`${manifest.version}\n`);
    }
    await run(core, ['install', '--dir', dir, '--remove']);
    expect(readdirSync(dir)).to.deep.equal([]);
  });
});

import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { openInBrowser } from './open-in-browser.ts';

const url = 'http://forge.test/demo/hello/pulls/1?a=1&b=$(false)';

describe('The browser', () => {
  const { PATH } = process.env;
  afterEach(() => {
    process.env.PATH = PATH;
  });

  /** A desktop whose program for addresses does this. */
  function desktop(script: string): string {
    const folder = temporaryFolder();
    for (const name of ['xdg-open', 'open'])
      writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    process.env.PATH = [folder, PATH].join(delimiter);
    return folder;
  }

  it('is given the address as it is', async () => {
    const folder = desktop('printf %s "$1" > "$0.url"');
    let started = 0;
    await openInBrowser(url, () => started++);
    const name = process.platform === 'darwin' ? 'open' : 'xdg-open';
    expect(readFileSync(join(folder, `${name}.url`), 'utf8')).to.equal(url);
    expect(started).to.equal(1);
  });

  it('is not there where its program fails, or there is none', async () => {
    desktop('exit 3');
    expect(await openInBrowser(url, () => {}).catch(String)).to.contain('ended with 3');
    process.env.PATH = temporaryFolder();
    let started = 0;
    expect(await openInBrowser(url, () => started++).catch(String)).to.contain('ENOENT');
    expect(started).to.equal(0);
  });
});

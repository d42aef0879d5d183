import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { openDoorFolder } from './door-folder.ts';
import { listenOn } from './listen-on.ts';

describe('The folder of a run’s doors', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'core-doors-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('is below the state folder, for this user alone, and goes with its sockets', async () => {
    const folder = await openDoorFolder(root);
    const socket = folder.socket('model');
    expect(socket.startsWith(`${root}/doors/`)).to.equal(true);
    expect(statSync(dirname(socket)).mode & 0o777).to.equal(0o700);
    await folder.remove();
    expect(readdirSync(join(root, 'doors'))).to.deep.equal([]);
  });

  it('is elsewhere where the path would be too long for a socket', async () => {
    const folder = await openDoorFolder(join(root, 'long'.repeat(30)));
    const server = createServer();
    try {
      await listenOn(server, folder.socket('context'));
      expect(statSync(dirname(folder.socket('context'))).mode & 0o777).to.equal(0o700);
      const closed = once(server, 'close');
      server.close();
      await closed;
    } finally {
      await folder.remove();
      rmSync(dirname(dirname(dirname(folder.socket('model')))), { recursive: true });
    }
  });

  it('removes what a killed process left', async () => {
    const script = `import { openDoorFolder } from ${JSON.stringify(fileURLToPath(new URL('door-folder.ts', import.meta.url)))};
      const folder = await openDoorFolder(${JSON.stringify(root)});
      console.log(folder.socket('model'));
      process.kill(process.pid, 'SIGKILL');`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    const left = dirname(stdout.trim());
    expect(existsSync(left)).to.equal(true);
    const folder = await openDoorFolder(root);
    expect(existsSync(left)).to.equal(false);
    await folder.remove();
  });
});

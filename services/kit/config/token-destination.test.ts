import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { urlOf } from './address.ts';
import { announceService } from './running-service.ts';
import { whyNoToken } from './token-destination.ts';

describe('An address that a token is for', () => {
  let state: string;
  beforeEach(() => {
    state = temporaryFolder();
  });

  const announce = (host: string, port = 7817) =>
    announceService('core-agentd', { state }, { url: urlOf({ host, port, tls: false }), host, port });
  const why = (url: string) => whyNoToken('core-agentd', url, { state });

  it('may have it where the running service says that it listens', () => {
    const { withdraw } = announce('127.0.0.1');
    expect(why('http://127.0.0.1:7817')).to.equal(null);
    expect(why('ws://127.0.0.1:7817/x')).to.equal(null);
    withdraw();
    expect(why('http://127.0.0.1:7817')).to.equal(
      'no core-agentd of this state folder runs, so that nobody of ours is at 127.0.0.1:7817',
    );
  });

  it('may not have it at another port or address of this machine, or from another service', () => {
    announce('127.0.0.1');
    const listens = 'core-agentd of this state folder listens at http://127.0.0.1:7817, not at ';
    for (const host of ['127.0.0.1:7818', '127.0.0.2:7817', 'localhost:7817', '[::1]:7817', '127.0.0.1'])
      expect(why(`http://${host}`)).to.equal(`${listens}${host}`);
    expect(whyNoToken('core-bridge', 'http://127.0.0.1:7817', { state })).to.match(/^no core-bridge/);
    expect(whyNoToken('core-agentd', 'http://127.0.0.1:7817', {})).to.match(/^no core-agentd/);
  });

  it('is every one of its kind where the service listens on all of them', () => {
    announce('0.0.0.0');
    expect(why('http://127.0.0.1:7817')).to.equal(null);
    expect(why('http://[::1]:7817')).to.contain('not at [::1]:7817');
    announce('::');
    expect(why('http://127.0.0.1:7817')).to.equal(null);
    expect(why('http://[::1]:7817')).to.equal(null);
  });

  it('may not have it from a process that has ended, however it ended', async () => {
    announce('127.0.0.1');
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    await once(child, 'spawn');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const path = join(state, 'agentd', 'listening.json');
    const note = JSON.parse(readFileSync(path, 'utf8'));
    // Its number may be somebody else's by now: another start is another process.
    for (const holder of [
      { ...note.holder, pid: child.pid },
      { ...note.holder, pid: process.pid, process_started: '1' },
      { ...note.holder, boot_id: 'another machine' },
    ]) {
      writeFileSync(path, JSON.stringify({ ...note, holder }));
      expect(why('http://127.0.0.1:7817')).to.match(/^no core-agentd/);
    }
  });

  it('is trusted as the network is, on other machines and in other containers, and by its certificate', () => {
    expect(why('http://core-agentd:7817')).to.equal(null);
    expect(why('http://192.0.2.7:7817')).to.equal(null);
    expect(why('https://127.0.0.1:7817')).to.equal(null);
    expect(why('wss://localhost:7817')).to.equal(null);
    for (const host of [hostname(), 'LOCALHOST', 'localhost.', 'a.localhost', '0.0.0.0', '0x7f000001'])
      expect(why(`http://${host}:7817`), host).to.match(/^no core-agentd/);
  });
});

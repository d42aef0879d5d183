import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Shutdown } from './shutdown.ts';

describe('Shutdown', () => {
  it('aborts, then closes the newest first, once', async () => {
    const order: string[] = [];
    const shutdown = new Shutdown();
    shutdown.signal.addEventListener('abort', () => order.push('abort'));
    shutdown.add('first', () => order.push('first'));
    shutdown.add('second', async () => order.push('second'));
    expect(await Promise.all([shutdown.close('test'), shutdown.close('again')])).to.deep.equal([true, true]);
    expect(order).to.deep.equal(['abort', 'second', 'first']);
  });

  it('goes on past a closer that fails or hangs, and says so', async () => {
    const warnings: string[] = [];
    let reached = false;
    const shutdown = new Shutdown({ deadlineMs: 30, warn: (text) => warnings.push(text) });
    shutdown.add('last', () => {
      reached = true;
    });
    shutdown.add('hanging', () => new Promise(() => {}));
    shutdown.add('failing', () => Promise.reject(new Error('broken')));
    expect(await shutdown.close('test')).to.equal(false);
    expect(reached).to.equal(true);
    expect(warnings[0]).to.contain('failing did not end well: broken');
    expect(warnings[1]).to.contain('hanging did not end within 30 ms');
  });

  describe('of a process', () => {
    let folder: string;
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'core-shutdown-'));
    });
    afterEach(() => rmSync(folder, { recursive: true, force: true }));

    async function start(closer: string) {
      const script = join(folder, 'child.ts');
      writeFileSync(
        script,
        `import { Shutdown } from ${JSON.stringify(new URL('./shutdown.ts', import.meta.url).href)};
         const shutdown = new Shutdown({ deadlineMs: 20000 });
         const alive = setInterval(() => {}, 1000);
         shutdown.add('work', ${closer});
         shutdown.listen();
         process.send('ready');`,
      );
      const child = fork(script, { stdio: 'ignore' });
      await once(child, 'message');
      return child;
    }

    it('ends in order at SIGTERM', async () => {
      const child = await start('() => clearInterval(alive)');
      child.kill('SIGTERM');
      expect(await once(child, 'exit')).to.deep.equal([0, null]);
    });

    it('ends at once at the second signal', async () => {
      const child = await start(`() => { process.send('closing'); return new Promise(() => {}); }`);
      child.kill('SIGINT');
      await once(child, 'message');
      child.kill('SIGINT');
      expect(await once(child, 'exit')).to.deep.equal([130, null]);
    });

    it('ends when its parent is gone', async () => {
      const child = await start('() => clearInterval(alive)');
      child.disconnect();
      expect(await once(child, 'exit')).to.deep.equal([0, null]);
    });
  });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { stackFolder, stackNoteName } from '#kit/contracts/stack-note.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { until } from '../../../test/fixtures/until.ts';
import { itWith } from '../../../test/needs.ts';
import { embeddedStack, processState } from './embedded-stack.ts';

const holderModule = import.meta.resolve('#kit/storage/process-identity.ts');

describe('The embedded stack', () => {
  itWith(['linux'], 'is not well while its supervisor is halted', async () => {
    const program = `const { thisProcess } = await import(${JSON.stringify(holderModule)});
      process.stdout.write(JSON.stringify(thisProcess()));
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [holder] = await once(child.stdout, 'data');
    const state = temporaryFolder();
    mkdirSync(join(state, stackFolder));
    const note = {
      holder: JSON.parse(String(holder)),
      since: '2026-01-01T00:00:00Z',
      services: {},
      left: {},
    };
    writeFileSync(join(state, stackFolder, stackNoteName), JSON.stringify(note));
    const manager = embeddedStack({ state });
    try {
      expect(manager.problem?.()).to.equal(null);
      child.kill('SIGSTOP');
      await until('it to be stopped', () => processState(child.pid!) === 'stopped');
      expect(manager.problem?.()).to.deep.equal({
        detail: `./core up, process ${child.pid}, is stopped: it starts nothing again that ends`,
        fix: `kill -CONT ${child.pid}`,
      });
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    expect(manager.problem?.()).to.equal(null);
  });
});

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { execa } from 'execa';
import { presets } from '../../services/agentd/planners/agent/presets.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const versions = join(root, '.ci/agents/package.json');

describe('the coding agents of an image', () => {
  function install(target: string, names: string) {
    const args = [join(root, 'images/agents.js'), target, versions, names];
    return execa(process.execPath, args, { reject: false });
  }

  it('are none where none is named', async () => {
    const target = join(temporaryFolder(), 'agents');
    expect((await install(target, '')).exitCode).to.equal(0);
    expect(readdirSync(join(target, 'node_modules/.bin'))).to.deep.equal([]);
  });

  it('are those that Core knows, and an unknown name is refused with the choices', async () => {
    const target = join(temporaryFolder(), 'agents');
    const { exitCode, stderr } = await install(target, 'claude, cursor');
    expect(exitCode).to.equal(2);
    expect(stderr).to.contain('CORE_AGENTS: cursor is not an agent that Core knows');
    expect(stderr).to.contain(`choose of ${Object.keys(presets).sort().join(', ')},`);
    expect(existsSync(target)).to.equal(false);
  });

  it('have the versions that the tests drive', () => {
    const { dependencies } = JSON.parse(readFileSync(versions, 'utf8'));
    const installed = Object.values(presets).map((preset) => preset.install.split(' ').at(-1));
    expect(installed).to.have.members(Object.keys(dependencies));
  });
});

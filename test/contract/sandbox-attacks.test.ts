import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { controlGroups } from '#kit/control-groups.ts';
import { sandboxes } from '../../services/agentd/sandboxes/registry.ts';
import { toolPaths } from '../../services/agentd/sandboxes/tool-paths.ts';
import { describeWith } from '../needs.ts';
import { type Attack, attacks } from './sandbox-attacks.ts';

const page = fileURLToPath(new URL('../../site/validation-and-sandbox.md', import.meta.url));
const limits = { seconds: 100, memory_mib: 300, processes: 64, disk_mib: 64, output_bytes: 4096 };

for (const [kind, column, need] of [
  ['bubblewrap', 'bubblewrap', 'bubblewrap'],
  ['unshare (weak)', 'weak', 'unshare'],
] as const) {
  describeWith([need, 'perl'], `Attacks from within ${kind}`, () => {
    for (const attack of attacks) {
      const promise = attack[column];
      if (promise === 'open') continue;
      it(`${promise === 'held' ? 'holds' : 'counts, where control groups are delegated,'} ${attack.name}`, async () => {
        if (promise === 'held' || (await controlGroups()).works) await expectHeld(kind, attack);
      });
    }
  });
}

describe('The page about sandboxes', () => {
  it('says of each attack which sandbox holds it', () => {
    const text = readFileSync(page, 'utf8');
    const words = { held: 'held', counted: 'with control groups', open: '**open**' };
    for (const { name, bubblewrap, weak } of attacks) {
      expect(text).to.contain(`| ${name} | ${words[bubblewrap]} | ${words[weak]} |`);
    }
  });
});

async function expectHeld(kind: keyof typeof sandboxes, { name, program, ends }: Attack): Promise<void> {
  const workspace = mkdtempSync(join(tmpdir(), 'core-sandbox-test-'));
  try {
    const sandbox = sandboxes[kind]({ tools: toolPaths([], []), networkEnvironment: {} });
    const command = `exec perl -e '${program}'`;
    const result = await sandbox.run({ workspace, mounts: [], command, network: false, limits });
    const text = Buffer.from(result.output).toString('utf8');
    if (ends !== undefined) {
      expect(result, `${name}: ${text}`).to.include({ ended_by: ends, exit_code: null });
      expect(text).to.contain('[core: ended for');
    } else {
      expect(text, name).to.match(/^no: /);
    }
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
}

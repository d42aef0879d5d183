import { expect } from 'chai';
import type { FileChange, ValidationPlan } from '../action.ts';
import { changeFacts } from './change-facts.ts';
import type { TreeReader } from './scratch-copy.ts';

const nothing: TreeReader = { list: async () => [], read: async () => null };

const plan: ValidationPlan = {
  source: 'repository',
  found: '.core.json',
  prepare: [{ name: 'install', run: 'python3 -m pip install -r requirements.txt' }],
  prepare_network: false,
  prepared_paths: [],
  lockfiles: ['deps.lock'],
  commands: [{ name: 'test', run: 'cd . && "./scripts/check" --all;sh scripts/more' }],
  limits: { seconds: 1, memory_mib: 16, processes: 4, output_bytes: 1024 },
};

async function decidingAmong(paths: readonly string[]): Promise<readonly string[]> {
  const files = paths.map((path): FileChange => {
    const facts = { old_path: null, status: 'modified', added: 1, removed: 0 } as const;
    return { path, ...facts, old_mode: '100644', new_mode: '100644' };
  });
  return (await changeFacts(files, nothing, nothing, plan, [], 0)).validation_files;
}

describe('What a change touches of its own validation', () => {
  it('is where the plan was found, its lockfiles, and what its commands name', async () => {
    const deciding = ['.core.json', 'deps.lock', 'requirements.txt', 'scripts/check', 'scripts/more'];
    expect(await decidingAmong([...deciding, 'src/a.js', 'scripts/check2'])).to.deep.equal(deciding);
  });
});

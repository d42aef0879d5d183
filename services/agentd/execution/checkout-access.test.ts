import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { requireWritable } from './delivery.ts';

describe('Whether a branch can be delivered to a checkout', () => {
  function repository(): string {
    const gitDir = join(temporaryFolder(), '.git');
    for (const name of ['objects', 'refs/heads', 'worktrees/side'])
      mkdirSync(join(gitDir, name), { recursive: true });
    writeFileSync(join(gitDir, 'worktrees/side/commondir'), '../..\n');
    return gitDir;
  }

  it('is asked of what is written to, which linked work trees share', () => {
    const gitDir = repository();
    for (const own of [gitDir, join(gitDir, 'worktrees/side')]) {
      const asked: string[] = [];
      requireWritable(own, '/checkout', (path) => void asked.push(join(String(path))));
      expect(asked.map((path) => path.replace(/\/$/, ''))).to.deep.equal([
        gitDir,
        ...['objects', 'refs', 'refs/heads'].map((name) => join(gitDir, name)),
      ]);
    }
    requireWritable(gitDir, '/checkout');
  });

  it('is refused with the place, and what to do', () => {
    const gitDir = repository();
    const denied = (path: unknown) => {
      if (String(path).endsWith('objects')) throw new Error('EACCES: permission denied');
    };
    expect(() => requireWritable(gitDir, '/checkout', denied))
      .to.throw(
        `no branch can be delivered to /checkout, for ${join(gitDir, 'objects')} is not writable: EACCES`,
      )
      .that.includes({ code: 'checkout_not_writable' })
      .with.property('hint')
      .that.contains('CORE_UID');
  });
});

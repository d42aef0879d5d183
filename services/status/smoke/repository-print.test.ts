import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { makePrivateFolder } from '#kit/durable-file.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { git } from '#kit/git/git.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { knownRepositories, printDifferences, printRepository } from './repository-print.ts';

const { signal } = new AbortController();

describe('The print of a repository', () => {
  let repository: string;
  const run = (...args: string[]) =>
    git(['-c', 'user.name=t', '-c', 'user.email=t@localhost', '-C', repository, ...args]);

  beforeEach(async () => {
    repository = temporaryFolder();
    await run('init', '--quiet', '--initial-branch=main');
    writeFileSync(join(repository, 'a.txt'), 'one\n');
    await run('add', '--all');
    await run('commit', '--quiet', '--message', 'one');
  });

  async function changesBy(work: () => unknown): Promise<string[]> {
    const before = await printRepository(repository, signal);
    await work();
    return printDifferences(repository, before, await printRepository(repository, signal));
  }

  it('is the same while nothing changes', async () => {
    expect(await changesBy(() => run('status'))).to.deep.equal([]);
  });

  it('reports every ref that is new, has moved or is gone', async () => {
    expect(await changesBy(() => run('branch', 'other'))).to.deep.equal([
      `${repository}: refs/heads/other is new`,
    ]);
    expect(
      await changesBy(() => run('commit', '--quiet', '--allow-empty', '--message', 'two')),
    ).to.deep.equal([`${repository}: refs/heads/main has changed`]);
    expect(await changesBy(() => run('branch', '-D', 'other'))).to.deep.equal([
      `${repository}: refs/heads/other is gone`,
    ]);
  });

  it('reports another HEAD, changed files, and a repository that cannot be read', async () => {
    expect(await changesBy(() => run('checkout', '--quiet', '--detach'))).to.deep.equal([
      `${repository}: HEAD has changed`,
    ]);
    expect(await changesBy(() => writeFileSync(join(repository, 'a.txt'), 'two\n'))).to.deep.equal([
      `${repository}: the working copy has changed`,
    ]);
    const broken = await printRepository(join(repository, 'nowhere'), signal);
    expect([...broken.keys()]).to.deep.equal(['cannot be read']);
  });

  it('is made of local forges and configured checkouts', () => {
    const home = temporaryFolder();
    const folders = resolveFolders({ home }, environment);
    const bare = join(folders.state, 'forge/you/thing/repository.git');
    makePrivateFolder(bare);
    makePrivateFolder(folders.config);
    const core = { agentd: { checkouts: { thing: repository, gone: '/nonexistent/checkout' } } };
    writeFileSync(join(folders.config, 'core.json'), JSON.stringify(core));
    expect(knownRepositories(folders, environment)).to.deep.equal([bare, repository]);
  });
});

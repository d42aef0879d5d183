import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { repositoryHere, repositoryOfRemote } from './repository-here.ts';

describe('The repository of the folder where the terminal was opened', () => {
  it('is named by the end of a remote', () => {
    const koa = { owner: 'koajs', repo: 'koa' };
    for (const url of [
      'https://github.com/koajs/koa.git',
      'git@github.com:koajs/koa.git',
      'ssh://git@git.host:2222/koajs/koa/',
      '/home/you/.local/state/core/forge/koajs/koa/repository.git',
    ])
      expect(repositoryOfRemote(url), url).to.deep.equal(koa);
    expect(repositoryOfRemote('koa')).to.equal(null);
  });

  it('is that of the remote core, else of origin, else unclear', async () => {
    const folder = temporaryFolder();
    const git = (...args: string[]) => execFileSync('git', args, { cwd: folder });
    git('init', '--quiet');
    expect(await repositoryHere(folder)).to.equal(null);
    git('remote', 'add', 'origin', 'https://github.com/you/fork.git');
    expect(await repositoryHere(folder)).to.deep.equal({ owner: 'you', repo: 'fork' });
    git('remote', 'add', 'core', '/state/forge/you/thing/repository.git');
    expect(await repositoryHere(folder)).to.deep.equal({ owner: 'you', repo: 'thing' });
  });
});

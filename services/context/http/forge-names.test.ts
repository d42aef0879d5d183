import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { resolveFolders } from '#kit/folders.ts';
import { makeRepository } from '../../../test/fixtures/repositories/repository.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { nameByForge } from './forge-names.ts';

describe('The name of a repository by its remotes', () => {
  const folders = resolveFolders({ home: temporaryFolder() }, {} as never);
  mkdirSync(folders.config, { recursive: true });

  const cases: readonly (readonly [Record<string, string>, string | null])[] = [
    [{}, null],
    [{ core: join(folders.state, 'forge/you/thing/repository.git') }, 'local/you/thing'],
    [{ core: `file://${join(folders.state, 'forge/you/thing/repository.git')}` }, 'local/you/thing'],
    [{ origin: 'https://github.com/koajs/koa.git' }, 'github/koajs/koa'],
    [{ origin: 'git@github.com:koajs/koa.git' }, 'github/koajs/koa'],
    [{ origin: 'ssh://git@github.com/koajs/koa' }, 'github/koajs/koa'],
    [{ origin: 'https://git.example.org/koajs/koa.git' }, null],
    [{ origin: '/srv/git/thing.git', core: join(folders.state, 'forge/a/b/repository.git') }, 'local/a/b'],
    [{ origin: 'git@github.com:a/b.git', fork: 'git@github.com:c/b.git' }, 'github/a/b'],
    [{ one: 'git@github.com:a/b.git', two: 'git@github.com:c/b.git' }, null],
    [{ origin: 'https://github.com/a/b/c' }, null],
  ];
  for (const [remotes, name] of cases) {
    it(`of ${JSON.stringify(remotes).replaceAll(folders.state, 'STATE')} is ${name}`, async () => {
      const repository = makeRepository();
      for (const [remote, url] of Object.entries(remotes)) repository.git('remote', 'add', remote, url);
      expect(await nameByForge(repository.dir, folders)).to.equal(name);
    });
  }

  it('of a place that is none is not reported', async () => {
    expect(await nameByForge(join(temporaryFolder(), 'nowhere'), folders)).to.equal(null);
  });
});

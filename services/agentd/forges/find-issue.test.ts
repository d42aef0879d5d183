import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { decode } from '#kit/decode.ts';
import { secretFinder } from '#kit/redaction/secret-finder.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { findIssue, findRepository } from './find-issue.ts';
import { createForges, type Forges, ForgesConfig } from './registry.ts';

const none = secretFinder([]);

describe('The issue that a person names', () => {
  let forges: Forges;
  let stateDir: string;

  before(() => {
    stateDir = temporaryFolder();
    const config = {
      forges: [
        { name: 'local', kind: 'local' },
        { name: 'github', kind: 'github' },
        { name: 'work', kind: 'gitea', base_url: 'https://git.example.org:3000/forge' },
      ],
    };
    forges = createForges(decode(ForgesConfig, config, 'forges'), { stateDir, secretsDir: stateDir }, none);
  });

  function checkout(...remotes: readonly [name: string, url: string][]): string {
    const folder = temporaryFolder();
    execFileSync('git', ['init', '-q', folder]);
    for (const [name, url] of remotes) execFileSync('git', ['-C', folder, 'remote', 'add', name, url]);
    return folder;
  }

  async function refusal(text: string, folder: string): Promise<string> {
    try {
      await findIssue(forges, text, folder);
    } catch (error) {
      return `${(error as { code: string }).code}: ${(error as Error).message}`;
    }
    throw new Error(`'${text}' was found`);
  }

  const koa = { forge: 'github', owner: 'koajs', repo: 'koa', number: 12 };
  const thing = { forge: 'work', owner: 'you', repo: 'thing', number: 12 };
  const remotes: [string, object][] = [
    ['https://github.com/koajs/koa.git', koa],
    ['https://github.com/koajs/koa', koa],
    ['https://token@github.com/koajs/koa/', koa],
    ['git@github.com:koajs/koa.git', koa],
    ['ssh://git@github.com/koajs/koa.git', koa],
    ['ssh://git@github.com:22/koajs/koa', koa],
    ['https://git.example.org:3000/forge/you/thing.git', thing],
    ['ssh://git@git.example.org:2222/you/thing.git', thing],
    ['git@git.example.org:you/thing.git', thing],
  ];
  for (const [url, issue] of remotes) {
    it(`is found by its number alone if origin is ${url}`, async () => {
      const folder = checkout(['origin', url]);
      const below = join(folder, 'src/deep');
      mkdirSync(below, { recursive: true });
      for (const text of ['12', '#12']) expect(await findIssue(forges, text, below)).to.deep.equal(issue);
    });
  }

  it('is found by its number if the remote is a repository of the local forge', async () => {
    const bare = join(stateDir, 'forge/demo/hello/repository.git');
    execFileSync('git', ['init', '-q', '--bare', bare]);
    const wanted = { forge: 'local', owner: 'demo', repo: 'hello', number: 3 };
    for (const url of [bare, `file://${bare}`])
      expect(await findIssue(forges, '3', checkout(['origin', url]))).to.deep.equal(wanted);
  });

  it('is of origin among several remotes, of core where that is one, and of the only one', async () => {
    const other: [string, string] = ['upstream', 'https://github.com/other/koa'];
    const origin: [string, string] = ['origin', 'https://github.com/koajs/koa'];
    expect(await findIssue(forges, '12', checkout(other, origin))).to.deep.equal(koa);
    expect(await findIssue(forges, '12', checkout(['fork', origin[1]]))).to.deep.equal(koa);
    const core: [string, string] = ['core', 'https://git.example.org:3000/forge/you/thing'];
    expect(await findIssue(forges, '12', checkout(origin, core))).to.deep.equal(thing);
  });

  it('is found in a jj repository whose git repository lies inside it, from each of its workspaces', async () => {
    const folder = temporaryFolder();
    const store = join(folder, 'main/.jj/repo/store');
    mkdirSync(store, { recursive: true });
    execFileSync('git', ['init', '-q', '--bare', join(store, 'git')]);
    execFileSync('git', ['-C', join(store, 'git'), 'remote', 'add', 'origin', 'git@github.com:koajs/koa']);
    writeFileSync(join(store, 'git_target'), 'git');
    mkdirSync(join(folder, 'main/second/.jj'), { recursive: true });
    writeFileSync(join(folder, 'main/second/.jj/repo'), '../../.jj/repo');
    for (const name of ['main', 'main/second'])
      expect(await findIssue(forges, '12', join(folder, name))).to.deep.equal(koa);
  });

  it('is found by repository and number, and by the address of its page, from any folder', async () => {
    const { forge: _, ...named } = koa;
    expect(await findIssue(forges, 'koajs/koa#12', '/')).to.deep.equal(named);
    for (const page of ['issues/12', 'issues/12#issuecomment-3', 'pull/12'])
      expect(await findIssue(forges, `https://github.com/koajs/koa/${page}`, '/')).to.deep.equal(koa);
    expect(
      await findIssue(forges, 'https://git.example.org:3000/forge/you/thing/issues/12', '/'),
    ).to.deep.equal(thing);
  });

  it('is refused with the remotes where none of several is origin', async () => {
    const folder = checkout(
      ['mine', 'https://secret@github.com/me/koa'],
      ['theirs', 'git@github.com:koajs/koa'],
    );
    const said = await refusal('12', folder);
    expect(said).to.contain('repository_unclear').and.to.contain('none is called origin');
    expect(said).to.contain('mine (').and.to.contain('theirs (git@github.com:koajs/koa)');
    expect(said).not.to.contain('secret');
  });

  const wrong: [string, RegExp][] = [
    ['0', /invalid_issue_number: number 0 is not an issue number/],
    ['twelve', /invalid_issue: 'twelve' is not an issue.*12, koajs\/koa#12 or https:/],
    ['koajs/koa', /invalid_issue/],
    ['../koa#1', /invalid_owner_name/],
    ['https://gitlab.com/a/b/issues/1', /invalid_issue.*local \(.*github \(https:\/\/github.com\)/],
    ['https://github.com/koajs/koa', /invalid_issue/],
  ];
  for (const [text, message] of wrong) {
    it(`is refused as '${text}'`, async () => {
      expect(await refusal(text, '/')).to.match(message);
    });
  }

  it('is refused outside of a checkout, without a remote, and with one on a forge that is not configured', async () => {
    const outside = temporaryFolder();
    expect(await refusal('12', outside)).to.contain(`${outside} is in no checkout`);
    const alone = checkout();
    expect(await refusal('12', alone)).to.contain('has no remote');
    const forTask = await findRepository(forges, alone).catch(({ hint }) => hint);
    expect(forTask).to.contain('--repository OWNER/REPO').and.to.contain('forge init').and.not.contain('#');
    const elsewhere = checkout(['origin', 'git@gitlab.com:a/b.git']);
    expect(await refusal('12', elsewhere)).to.contain(
      'origin (git@gitlab.com:a/b.git) is on no configured forge',
    );
  });
});

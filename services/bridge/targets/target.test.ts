import { expect } from 'chai';
import fc from 'fast-check';
import type { KnownForge } from '#kit/config/known-forges.ts';
import { OwnerName, RepoName } from '#kit/contracts/bridge/text.ts';
import { targetAt, targetOf } from './target.ts';

const forges: readonly KnownForge[] = [
  { name: 'local', kind: 'local', base: null, root: 'forge' },
  { name: 'github', kind: 'github', base: new URL('https://github.com'), root: null },
  { name: 'work', kind: 'gitea', base: new URL('https://git.example.org:3000/forge/'), root: null },
];
const koa = { owner: 'koajs', repo: 'koa', number: 7 };

describe('The issue that an event is about', () => {
  const addresses: readonly (readonly [string, string, unknown])[] = [
    ['the page of an issue', 'https://github.com/koajs/koa/issues/7', { forge: 'github', ...koa }],
    [
      'a place on that page',
      'https://github.com/koajs/koa/issues/7#issuecomment-1',
      { forge: 'github', ...koa },
    ],
    ['a query', 'https://github.com/koajs/koa/issues/7/?a=b', { forge: 'github', ...koa }],
    ['upper case in the host', 'https://GitHub.com/koajs/koa/issues/7', { forge: 'github', ...koa }],
    [
      'a forge below a path',
      'https://git.example.org:3000/forge/koajs/koa/issues/7',
      { forge: 'work', ...koa },
    ],
    ['a forge below a path, left', 'https://git.example.org:3000/koajs/koa/issues/7', 'target_host_unknown'],
    ['a path that leaves', 'https://git.example.org:3000/forge/../koajs/koa/issues/7', 'target_host_unknown'],
    ['another port', 'https://git.example.org/forge/koajs/koa/issues/7', 'target_host_unknown'],
    ['another host', 'https://github.com.evil.example/koajs/koa/issues/7', 'target_host_unknown'],
    [
      'a host that only looks so',
      'https://github.com@evil.example/koajs/koa/issues/7',
      'target_host_unknown',
    ],
    ['a pull request', 'https://github.com/koajs/koa/pull/7', 'target_not_an_issue'],
    ['no number', 'https://github.com/koajs/koa/issues/new', 'target_not_an_issue'],
    [
      'a number of a thousand digits',
      `https://github.com/koajs/koa/issues/${'9'.repeat(1000)}`,
      'target_not_an_issue',
    ],
    ['a number that no forge has', 'https://github.com/koajs/koa/issues/2147483648', 'target_not_an_issue'],
    ['an encoded owner', 'https://github.com/%2e%2e%2fetc/koa/issues/7', 'target_not_an_issue'],
    [
      'a repository that is an option',
      'https://github.com/koajs/--upload-pack/issues/7',
      'target_not_an_issue',
    ],
    ['a file', 'file:///etc/passwd', 'target_not_an_address'],
    ['a script', 'javascript:alert(1)', 'target_not_an_address'],
    ['no address', 'rm -rf /', 'target_not_an_address'],
  ];
  for (const [title, address, expected] of addresses) {
    it(`by an address: ${title}`, () => {
      const found = targetAt(address, forges);
      expect(found.target ?? ('code' in found && found.code)).to.deep.equal(expected);
    });
  }

  const events: readonly (readonly [string, Parameters<typeof targetOf>[0], unknown])[] = [
    ['its names alone', { forge: koa }, { forge: null, ...koa }],
    ['its names and that of a forge', { forge: { ...koa, name: 'local' } }, { forge: 'local', ...koa }],
    ['a forge that is not configured', { forge: { ...koa, name: 'other' } }, 'target_forge_unknown'],
    [
      'an address in place of names',
      { forge: 'https://github.com/koajs/koa/issues/7' },
      { forge: 'github', ...koa },
    ],
    ['html_url', { html_url: 'https://github.com/koajs/koa/issues/7' }, { forge: 'github', ...koa }],
    ['url', { url: 'https://github.com/koajs/koa/issues/7' }, { forge: 'github', ...koa }],
    [
      "a dashboard's own page beside the forge's",
      { url: 'https://board.example.org/t/1', html_url: 'https://github.com/koajs/koa/issues/7' },
      { forge: 'github', ...koa },
    ],
    [
      'names and an address that agree',
      { forge: { ...koa, owner: 'KoaJS' }, html_url: 'https://github.com/koajs/koa/issues/7' },
      { forge: 'github', ...koa, owner: 'KoaJS' },
    ],
    [
      'names and an address that do not',
      { forge: koa, html_url: 'https://github.com/koajs/koa/issues/8' },
      'target_ambiguous',
    ],
    [
      'a forge and an address on another',
      { forge: { ...koa, name: 'work' }, html_url: 'https://github.com/koajs/koa/issues/7' },
      'target_ambiguous',
    ],
    [
      'names, and an address elsewhere',
      { forge: koa, url: 'https://board.example.org/1' },
      { forge: null, ...koa },
    ],
    ['nothing', {}, 'target_missing'],
    ['nulls', { forge: null, html_url: null, url: null }, 'target_missing'],
    ['an address elsewhere alone', { url: 'https://board.example.org/t/1' }, 'target_host_unknown'],
  ];
  for (const [title, issue, expected] of events) {
    it(`by what the event names: ${title}`, () => {
      const found = targetOf(issue, forges);
      expect(found.target ?? ('code' in found && found.code)).to.deep.equal(expected);
    });
  }

  it('is on the only forge, where there is one', () => {
    expect(targetOf({ forge: koa }, forges.slice(0, 1)).target).to.deep.equal({ forge: 'local', ...koa });
  });

  it('has names that are safe in a path, whatever the address', () => {
    fc.assert(
      fc.property(fc.webPath(), fc.webQueryParameters(), (path, query) => {
        const { target } = targetAt(`https://github.com${path}/issues/1?${query}`, forges);
        if (target !== null) expect(OwnerName.is(target.owner) && RepoName.is(target.repo)).to.equal(true);
      }),
    );
  });
});

import { expect } from 'chai';
import { submoduleUrl } from './submodule-url.ts';

const https = 'https://git.example.org/demo/hello.git';

describe('The URL of a submodule', () => {
  const taken: readonly (readonly [url: string, parent: string, read: string])[] = [
    ['https://git.example.org/demo/lib.git', https, 'https://git.example.org/demo/lib.git'],
    ['http://git.example.org:3000/demo/lib', https, 'http://git.example.org:3000/demo/lib'],
    ['git://git.example.org/demo/lib.git', https, 'git://git.example.org/demo/lib.git'],
    ['ssh://git@git.example.org:2222/demo/lib', https, 'ssh://git@git.example.org:2222/demo/lib'],
    ['git@git.example.org:demo/lib.git', https, 'git@git.example.org:demo/lib.git'],
    ['git.example.org:/demo/lib.git', https, 'git.example.org:/demo/lib.git'],
    ['../lib.git', https, 'https://git.example.org/demo/lib.git'],
    ['../lib', `${https}/`, 'https://git.example.org/demo/lib'],
    ['../../other/lib.git', https, 'https://git.example.org/other/lib.git'],
    ['./../lib', https, 'https://git.example.org/demo/lib'],
    ['./wiki', https, 'https://git.example.org/demo/hello.git/wiki'],
    ['../../lib/repository.git', '/forge/demo/hello/repository.git', '/forge/demo/lib/repository.git'],
    ['/forge/demo/lib/repository.git', '/forge/demo/hello/repository.git', '/forge/demo/lib/repository.git'],
    ['/my forge/a/b/repository.git/', '/my forge/demo/hello/repository.git', '/my forge/a/b/repository.git'],
    ['file:///forge/a/b/repository.git', '/forge/demo/hello/repository.git', '/forge/a/b/repository.git'],
  ];
  for (const [url, parent, read] of taken)
    it(`is read as git reads it: ${url} in ${parent}`, () => {
      expect(submoduleUrl(url, parent)).to.deep.equal({ url: read });
    });

  const refused: Readonly<Record<string, string>> = {
    nothing: '',
    'a file URL': 'file:///etc/repository.git',
    'a file URL in capitals': 'FILE:///etc/repository.git',
    'an absolute path': '/etc/repository.git',
    'a path without dots': 'demo/lib',
    'a home': '~/lib',
    'a program': 'ext::sh -c touch% /tmp/x',
    'a program without space': 'ext::sh',
    'another transport helper': 'fd::17',
    'a helper over https': 'https::https://git.example.org/demo/lib',
    'an option': '--upload-pack=touch',
    'an option with a path': '--upload-pack=touch:/demo/lib',
    'an option after dots': '../--upload-pack=touch',
    'an option of ssh as host': 'ssh://-oProxyCommand=touch/demo/lib',
    'an option of ssh as user': 'ssh://-oProxyCommand=touch@git.example.org/demo/lib',
    'an option of ssh in the short form': '-oProxyCommand=touch:demo/lib',
    'an option of ssh as host of the short form': 'git@-oProxyCommand=touch:demo/lib',
    'an option as path of the short form': 'git@git.example.org:-demo/lib',
    'a user and password': 'https://mira:secret@git.example.org/demo/lib',
    'a user': 'https://git.example.org@evil.example.org/demo/lib',
    'a backslash': 'https://evil.example.org\\@git.example.org/demo/lib',
    backslashes: '..\\lib',
    'a query': 'https://git.example.org/demo/lib?x=1',
    'a fragment': 'https://git.example.org/demo/lib#x',
    'an escape': 'https://git.example.org/demo/%2e%2e/lib',
    'an escape after dots': '../%2e%2e/lib',
    'dots within a URL': 'https://git.example.org/demo/../other/lib',
    'dots at the end of a URL': 'https://git.example.org/demo/..',
    'dots after a name': '../lib/../../other/lib',
    'dots alone': '../..',
    'dots alone with a slash': '../',
    'an empty part': 'https://git.example.org//demo/lib',
    'an empty part after dots': '..//lib',
    'a line break': '../lib\n',
    'a line break within': 'https://git.example.org/demo\n/lib',
    'a NUL': '../lib\0',
    'a space': 'https://git.example.org/demo/my lib',
    'a host in brackets': 'https://[::1]/demo/lib',
    'no host': 'https:///demo/lib',
    'no path': 'https://git.example.org',
    'no repository': 'https://git.example.org/',
    'another scheme': 'ftp://git.example.org/demo/lib',
    'a drive of Windows': 'C:\\lib',
    'a share of Windows': '\\\\host\\lib',
    'too many dots': '../../../lib',
    'too many dots by far': '../../../../../../etc/lib',
    'a long text': `../${'x'.repeat(600)}`,
    'a letter that looks like another': 'https://git.ex\u0430mple.org/demo/lib',
  };
  const local = '/forge/demo/hello/repository.git';
  for (const url of [
    '/forge/../etc/x',
    '/forge/./x',
    '//host/x',
    '/forge//x',
    '/forge/x\n',
    'file://host/x',
    '/',
  ])
    it(`is refused where the forge is a folder: ${JSON.stringify(url)}`, () => {
      expect(submoduleUrl(url, local)).to.have.keys(['refused']);
    });

  for (const [name, url] of Object.entries(refused))
    it(`is refused: ${name}`, () => {
      const read = submoduleUrl(url, https);
      expect(read).to.have.keys(['refused']);
      expect(JSON.stringify(read)).to.not.contain('secret');
      expect('refused' in read ? read.refused : '').to.match(
        /^its URL '[^\0-\x1f]*' (is not a plain https, http, git, ssh or relative URL|leads out of the forge)$/,
      );
    });
});

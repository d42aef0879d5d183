import { expect } from 'chai';
import { codeOf } from '#kit/errors.ts';
import { codeOwnersOf, ownersOf, parseCodeOwners } from './code-owners.ts';

const owners = (text: string, file: string) => ownersOf(parseCodeOwners(text, 'CODEOWNERS', 'github'), file);

describe('CODEOWNERS', () => {
  it('asks the owners of each file that Windows or macOS take a path for', async () => {
    const text = '/src/auth/ @jo\n/src/auth/public/\n/docs/ @kim\n';
    const read = async () => Buffer.from(text);
    const ownersOfFile = async (file: string) =>
      (await codeOwnersOf('github', read, [file])).owned.map(({ owners: list }) => list.join());
    for (const file of ['src/auth/x', 'SRC/Auth/x', 'src/auth./x', 'src\\auth\\x', 'src/a\u200cuth/x'])
      expect(await ownersOfFile(file), file).to.deep.equal(['@jo']);
    expect(await ownersOfFile('src/auth/public/x')).to.deep.equal([]);
    expect(await ownersOfFile('docs/..\\src\\auth\\x')).to.deep.equal(['@kim', '@jo']);
  });

  // Patterns and files of docs.github.com/…/about-code-owners#example-of-a-codeowners-file.
  for (const [pattern, fits, others] of [
    ['*', ['a', 'a/b.js', '.github/workflows/ci.yml'], []],
    ['*.js', ['a.js', 'src/b.js'], ['a.jsx', 'js']],
    ['/build/logs/', ['build/logs/a', 'build/logs/b/c'], ['src/build/logs/a', 'build/logs']],
    ['docs/*', ['docs/getting-started.md'], ['docs/build-app/troubleshooting.md', 'src/docs/a.md']],
    ['apps/', ['apps/a', 'src/apps/b/c'], ['apps']],
    ['/docs/', ['docs/a', 'docs/b/c'], ['src/docs/a']],
    ['/scripts', ['scripts', 'scripts/a.sh'], ['src/scripts']],
    ['**/logs', ['logs', 'build/logs/a', 'a/b/logs'], ['logs.txt']],
    ['/apps/github', ['apps/github', 'apps/github/a'], ['apps/githubber']],
    ['/src/**/deep', ['src/deep', 'src/a/b/deep/c'], ['src/deeper']],
    ['app/(group)/page.tsx', ['app/(group)/page.tsx'], ['app/group/page.tsx']],
    ['with\\ space.txt', ['with space.txt'], ['with', 'space.txt']],
    ['Readme.md', ['Readme.md'], ['README.md']],
  ] as const) {
    it(`reads ${pattern} as forges do`, () => {
      for (const file of fits) expect(owners(`${pattern} @jo`, file), file).to.deep.equal(['@jo']);
      for (const file of others) expect(owners(`${pattern} @jo`, file), file).to.deep.equal([]);
    });
  }

  it('lets the last line that fits win, which may give a file to nobody', () => {
    const text = '# ours\r\n* @a @b # all\r\n/docs/ docs@example.com\r\n/docs/free\r\n';
    expect(owners(text, 'src/a')).to.deep.equal(['@a', '@b']);
    expect(owners(text, 'docs/a')).to.deep.equal(['docs@example.com']);
    expect(owners(text, 'docs/free/a')).to.deep.equal([]);
  });

  for (const line of ['[Section] @jo', '^[Optional]', '!src/ @jo', '[ab].js @jo', '/src/ jo', 'a\\*b @jo']) {
    it(`refuses '${line}', which would be misread`, () => {
      expect(() => parseCodeOwners(line, 'CODEOWNERS', 'github'))
        .to.throw('line 1 of CODEOWNERS cannot be read')
        .that.satisfies((error: unknown) => codeOf(error) === 'code_owners_unreadable');
    });
  }

  it('refuses the regular expressions of Gitea, and reads its plain paths', () => {
    for (const line of ['.*\\\\.go @jo', 'docs/(aws|azure)/a @jo'])
      expect(() => parseCodeOwners(line, 'CODEOWNERS', 'gitea')).to.throw('regular expression');
    expect(
      ownersOf(parseCodeOwners('src/greet.js @jo', 'CODEOWNERS', 'gitea'), 'src/greet.js'),
    ).to.deep.equal(['@jo']);
  });

  it('lets a line without owners take a file from its owners, but for Gitea, which skips such lines', () => {
    const text = 'docs/a.md @jo\ndocs/a.md\n';
    expect(ownersOf(parseCodeOwners(text, 'CODEOWNERS', 'github'), 'docs/a.md')).to.deep.equal([]);
    expect(ownersOf(parseCodeOwners(text, 'CODEOWNERS', 'gitea'), 'docs/a.md')).to.deep.equal(['@jo']);
  });

  it('takes the first of the places where the forge looks, and groups files by owner', async () => {
    const files: Record<string, string> = { CODEOWNERS: '* @root', 'docs/CODEOWNERS': '* @docs' };
    const read = (path: string) =>
      Promise.resolve(files[path] === undefined ? null : Buffer.from(files[path]));
    const all = ['a', 'b'];
    expect(await codeOwnersOf('github', read, all)).to.deep.equal({
      path: 'CODEOWNERS',
      owned: [{ owners: ['@root'], files: all }],
    });
    files['.github/CODEOWNERS'] = '* @github';
    expect((await codeOwnersOf('github', read, all)).path).to.equal('.github/CODEOWNERS');
    expect((await codeOwnersOf('gitea', read, all)).path).to.equal('CODEOWNERS');
    expect(await codeOwnersOf('gitea', () => Promise.resolve(null), all)).to.deep.equal({
      path: null,
      owned: [],
    });
  });
});

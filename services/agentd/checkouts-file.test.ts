import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { codeOf } from '#kit/errors.ts';
import { addCheckout } from './checkouts-file.ts';

describe('Working copies in core.json', () => {
  let config: string;

  beforeEach(() => {
    config = mkdtempSync(join(tmpdir(), 'core-checkouts-'));
  });
  afterEach(() => rmSync(config, { recursive: true }));

  const path = () => join(config, 'core.json');
  const document = () => JSON.parse(readFileSync(path(), 'utf8'));

  it('are named by their repository, with the owner and a number where that is taken', () => {
    const add = (owner: string, folder: string) => addCheckout({ config }, { owner, repo: 'thing' }, folder);
    expect([add('you', '/a'), add('you', '/b'), add('you', '/c'), add('you', '/a')]).to.deep.equal([
      'thing',
      'you-thing',
      'you-thing-2',
      'thing',
    ]);
    expect(document()).to.deep.equal({
      agentd: { checkouts: { thing: '/a', 'you-thing': '/b', 'you-thing-2': '/c' } },
    });
  });

  it('leave the rest of the file as it is', () => {
    writeFileSync(path(), JSON.stringify({ vcs: 'git', agentd: { port: 9000, checkouts: { old: '/old' } } }));
    addCheckout({ config }, { owner: 'you', repo: 'thing' }, '/new');
    expect(document()).to.deep.equal({
      vcs: 'git',
      agentd: { port: 9000, checkouts: { old: '/old', thing: '/new' } },
    });
  });

  it('are not added to a file that cannot be read', () => {
    writeFileSync(path(), '{"agentd": ');
    expect(() => addCheckout({ config }, { owner: 'you', repo: 'thing' }, '/new')).to.throw();
    expect(readFileSync(path(), 'utf8')).to.equal('{"agentd": ');
    writeFileSync(path(), '{"vcs": "svn"}');
    try {
      addCheckout({ config }, { owner: 'you', repo: 'thing' }, '/new');
      expect.fail('it was added');
    } catch (error) {
      expect(codeOf(error)).to.equal('config_invalid');
    }
  });
});

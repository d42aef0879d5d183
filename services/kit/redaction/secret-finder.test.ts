import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { readReleasedSecrets } from '../config/released-secrets.ts';
import { codeOf } from '../errors.ts';
import { fingerprintOf } from './find-secrets.ts';
import { MaskTally, secretFinder } from './secret-finder.ts';

/** Put together here, so that no file holds what looks like a secret. */
const token = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
const other = `glpat-${'Zy9Xw8Vu7Ts6'.repeat(2)}`;
const text = `${token} and ${other}`;

describe('A secret that people released', () => {
  it('is neither found nor masked by its fingerprint, and others are', () => {
    const finder = secretFinder([fingerprintOf(token)]);
    expect(finder.find(text).map(({ kind }) => kind)).to.deep.equal(['gitlab_token']);
    expect(finder.mask(text)).to.equal(`${token} and [redacted gitlab_token]`);
    expect(secretFinder([]).mask(text)).to.equal('[redacted github_token] and [redacted gitlab_token]');
  });

  it('is named in policy.json, where none is without that', () => {
    const config = temporaryFolder();
    expect(readReleasedSecrets({ config })).to.deep.equal([]);
    const path = join(config, 'policy.json');
    writeFileSync(path, JSON.stringify({ released_secrets: ['sha256:0123456789abcdef'] }));
    expect(readReleasedSecrets({ config })).to.deep.equal(['sha256:0123456789abcdef']);
    for (const released_secrets of [[''], 'sha256:0123456789abcdef', [1]]) {
      writeFileSync(path, JSON.stringify({ released_secrets }));
      expect(codeThrown(() => readReleasedSecrets({ config }))).to.equal('config_invalid');
    }
  });

  function codeThrown(work: () => unknown): string | undefined {
    try {
      work();
    } catch (error) {
      return codeOf(error);
    }
    return undefined;
  }
});

describe('The tally of masked secrets', () => {
  const found = (kind: string, secret: string, place: string) => ({
    kind,
    fingerprint: fingerprintOf(secret),
    place,
  });

  it('has each secret once for each place, and nothing that was only looked for', () => {
    const tally = new MaskTally(secretFinder([]));
    expect(tally.find(token).map(({ kind }) => kind)).to.deep.equal(['github_token']);
    expect(tally.mask('nothing', 'the issue')).to.equal('nothing');
    expect(tally.found).to.deep.equal([]);
    expect(tally.mask(text, 'the issue')).to.equal('[redacted github_token] and [redacted gitlab_token]');
    tally.mask(`again ${token}`, 'the issue');
    tally.mask(token, 'file a.txt');
    tally.mask(token);
    tally.add([found('github_token', token, 'file a.txt'), found('github_token', token, 'a comment')]);
    expect(tally.found).to.deep.equal([
      found('github_token', token, 'the issue'),
      found('gitlab_token', other, 'the issue'),
      found('github_token', token, 'file a.txt'),
      found('github_token', token, 'a text'),
      found('github_token', token, 'a comment'),
    ]);
  });

  it('names no place by a secret', () => {
    const tally = new MaskTally(secretFinder([]));
    tally.mask(token, `${other} of mira`);
    expect(tally.found).to.deep.equal([found('github_token', token, '[redacted gitlab_token] of mira')]);
  });

  it('masks every text of a value, names of members too', () => {
    const tally = new MaskTally(secretFinder([]));
    expect(tally.maskDeep({ [token]: [other, 1, null] }, 'an answer')).to.deep.equal({
      '[redacted github_token]': ['[redacted gitlab_token]', 1, null],
    });
    expect(tally.found).to.deep.equal([
      found('github_token', token, 'an answer'),
      found('gitlab_token', other, 'an answer'),
    ]);
  });
});

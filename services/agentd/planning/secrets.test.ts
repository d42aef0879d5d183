import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { codeOf, messageOf } from '#kit/errors.ts';
import { fingerprintOf } from '#kit/redaction/find-secrets.ts';
import { secretFinder } from '#kit/redaction/secret-finder.ts';
import { type FileContent, makeRepository } from '../../../test/fixtures/repositories/repository.ts';
import { everybody, greetPatch, makeWorld, quiet, ref } from '../../../test/fixtures/world/world.ts';
import { requireNoSecrets } from './change-checks.ts';

/** Put together at run time, so that no file of the project holds anything that looks like a secret. */
const secret = ['ghp', 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6'].join('_');
const older = ['ghp', 'Zz9Yy8Xx7Ww6Vv5Uu4Tt3Ss2Rr1Qq0Pp9Oo8'].join('_');
const old = { 'settings.ini': `token ${older}\n`, 'a.txt': 'one\n' };

describe('a change that is looked through for secrets', () => {
  async function problemOf(
    files: Readonly<Record<string, FileContent | null>>,
    released: readonly string[] = [],
  ): Promise<string | null> {
    const repository = makeRepository(old);
    const base = repository.git('rev-parse', 'HEAD');
    const tree = `${repository.commit(files)}^{tree}`;
    try {
      await requireNoSecrets(
        repository.gitDir,
        base,
        repository.git('rev-parse', tree),
        secretFinder(released),
      );
      return null;
    } catch (error) {
      expect(codeOf(error)).to.equal('patch_adds_secret');
      expect(messageOf(error)).to.contain(fingerprintOf(secret)).and.not.contain(secret);
      return messageOf(error);
    }
  }

  const hidden: Readonly<Record<string, [Record<string, FileContent>, RegExp]>> = {
    'in a line that looks like the header of a file': [{ 'x.md': `++ ${secret}\n` }, /in x\.md/],
    'in the name of a file': [{ [`keys/${secret}.txt`]: 'hello\n' }, /in the name keys\/\[redacted/],
    'in a file that is no text': [
      { 'b.bin': Buffer.concat([Buffer.from([0, 255]), Buffer.from(secret)]) },
      /in b\.bin/,
    ],
    'in UTF-16': [{ 'w.txt': Buffer.from(`\ufeff${secret}\r\n`, 'utf16le') }, /in w\.txt/],
    'in the target of a link': [{ l: { link: secret } }, /in l \(/],
    'beside one that was there': [{ 'settings.ini': `token ${older}\n${secret}\n` }, /in settings\.ini/],
  };
  for (const [place, [files, expected]] of Object.entries(hidden)) {
    it(`is refused for one ${place}`, async () => {
      expect(await problemOf(files)).to.match(expected);
      expect(await problemOf(files, [fingerprintOf(secret)])).to.equal(null);
    });
  }

  it('may touch, move or remove a file that held one before', async () => {
    expect(await problemOf({ 'settings.ini': `# mine\ntoken ${older}\n` })).to.equal(null);
    expect(await problemOf({ 'settings.ini': null, 'moved.ini': `token ${older}\n` })).to.equal(null);
    expect(await problemOf({ 'settings.ini': null })).to.equal(null);
  });
});

describe('an issue that contains secrets', () => {
  it('leaves none of them in a branch, a title or a record', async () => {
    const world = await makeWorld({ vcs: 'git' });
    try {
      const body = `It fails with ${older}.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;
      const number = await world.newIssue(body, `${secret} leaks`);
      const run = await world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
      expect(run.plan!.target.branch).to.match(/^core\/1-redacted-github-[0-9a-f]{12}$/);
      expect(run.plan!.title).to.equal('[redacted github_token] leaks');
      const words = [secret.slice(4), secret.slice(4, 24).toLowerCase(), older];
      const files = readdirSync(join(world.home, 'state/runs'), { recursive: true, withFileTypes: true });
      for (const file of files.filter((entry) => entry.isFile())) {
        const text = readFileSync(join(file.parentPath, file.name), 'latin1');
        for (const word of words) expect(text, file.name).not.to.contain(word);
      }
    } finally {
      await world.close();
    }
  });
});

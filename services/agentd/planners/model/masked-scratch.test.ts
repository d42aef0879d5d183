import { expect } from 'chai';
import { codeOf } from '#kit/errors.ts';
import { MaskTally, secretFinder } from '#kit/redaction/secret-finder.ts';
import { planningInput, scratchText } from '../../../../test/fixtures/planning/planning-input.ts';
import { makeRepository } from '../../../../test/fixtures/repositories/repository.ts';
import { MaskedScratch } from './masked-scratch.ts';

/** Put together at run time, so that no file of the project holds anything that looks like a secret. */
const one = ['ghp', 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6'].join('_');
const two = ['ghp', 'Zz9Yy8Xx7Ww6Vv5Uu4Tt3Ss2Rr1Qq0Pp9Oo8'].join('_');
const key = [
  ['-----BEGIN RSA', 'PRIVATE KEY-----'].join(' '),
  ...Array(3).fill('aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6aB3dE6gH'),
  ['-----END RSA', 'PRIVATE KEY-----'].join(' '),
].join('\n');
const mark = '[redacted github_token]';
const keyMark = '[redacted private_key]';

const files = {
  'settings.js': `// settings\nexport const token = '${one}';\nexport const port = 80;\n`,
  'two.js': `a('${one}');\nb('${two}');\n`,
  'key.txt': `before\n${key}\nafter\n`,
  'notes.md': `Core writes ${mark} for a token.\n`,
};

describe('What a model sees of a repository with secrets', () => {
  async function open() {
    const { scratch } = await planningInput(makeRepository(files));
    const tally = new MaskTally(secretFinder([]));
    const masked = new MaskedScratch(scratch, tally);
    const read = async (path: string) => Buffer.from((await masked.read(path))!).toString('utf8');
    const replace = (path: string, old_text: string, new_text: string) =>
      masked.edit({ kind: 'replace', path, old_text, new_text });
    const refusal = (path: string, old_text: string, new_text: string) =>
      replace(path, old_text, new_text).then(() => 'done', codeOf);
    return { scratch, tally, masked, read, replace, refusal };
  }

  it('has none of them in what it reads, with every line in its place, and they are counted', async () => {
    const { read, tally } = await open();
    expect(await read('settings.js')).to.equal(
      `// settings\nexport const token = '${mark}';\nexport const port = 80;\n`,
    );
    expect((await read('key.txt')).split('\n').indexOf('after')).to.equal(6);
    expect(tally.found.map(({ kind, place }) => `${kind} in ${place}`)).to.deep.equal([
      'github_token in file settings.js',
      'private_key in file key.txt',
    ]);
  });

  it('cannot be asked for one letter by letter, by a search or by an edit', async () => {
    const { masked, refusal } = await open();
    for (const guess of [one, one.slice(0, 6), one.slice(4, 20)]) {
      expect(await masked.search(guess, { limit: 10 })).to.deep.equal([]);
      expect(await refusal('settings.js', guess, 'x')).to.equal('edit_does_not_apply');
    }
    const [hit] = await masked.search('export const token', { limit: 10 });
    expect(hit).to.deep.equal({ path: 'settings.js', line: 2, text: `export const token = '${mark}';` });
  });

  it('keeps the bytes behind a mask that an edit leaves in its place', async () => {
    const { scratch, replace } = await open();
    await replace(
      'settings.js',
      `'${mark}';\nexport const port = 80;`,
      `'${mark}';\nexport const port = 81;`,
    );
    await replace('settings.js', '// settings', '// our settings');
    expect(await scratchText(scratch, 'settings.js')).to.equal(
      `// our settings\nexport const token = '${one}';\nexport const port = 81;\n`,
    );
    await replace('two.js', `a('${mark}');\nb('${mark}');`, `first('${mark}');\nsecond('${mark}');`);
    expect(await scratchText(scratch, 'two.js')).to.equal(`first('${one}');\nsecond('${two}');\n`);
    await replace('key.txt', `before\n${keyMark}\n\n\n\n\nafter`, `begin\n${keyMark}\n\n\n\n\nend`);
    expect(await scratchText(scratch, 'key.txt')).to.equal(`begin\n${key}\nend\n`);
  });

  it('takes a secret out where an edit takes its mask out', async () => {
    const { scratch, replace } = await open();
    await replace('settings.js', `'${mark}'`, 'process.env.TOKEN');
    expect(await scratchText(scratch, 'settings.js')).to.contain('token = process.env.TOKEN;');
  });

  it('never gets a mask written into a file', async () => {
    const { scratch, masked, read, refusal } = await open();
    await read('settings.js');
    const before = (await scratch.diff()).tree;
    const copied = masked.edit({ kind: 'create', path: 'copy.js', content: `t('${mark}')` });
    expect(await copied.then(() => 'done', codeOf)).to.equal('edit_holds_mask');
    expect(
      await refusal('settings.js', 'export const port', `const t = '${mark}'; export const port`),
    ).to.equal('edit_holds_mask');
    expect(await refusal('two.js', `a('${mark}');\nb('${mark}');`, `a('${mark}');`)).to.equal(
      'edit_holds_mask',
    );
    expect(await refusal('settings.js', 'redacted github_token', 'x')).to.equal('edit_cuts_mask');
    expect((await scratch.diff()).tree).to.equal(before);
  });

  it('may change a text that speaks of masks', async () => {
    const { scratch, replace, read } = await open();
    await read('settings.js');
    await replace('notes.md', `writes ${mark} for`, `puts ${mark} for`);
    expect(await scratchText(scratch, 'notes.md')).to.equal(`Core puts ${mark} for a token.\n`);
  });
});

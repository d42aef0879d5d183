import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { CoreError } from '../errors.ts';
import { openSecretFile } from './secret-file.ts';

const first = 'a'.repeat(16);
const second = 'b'.repeat(40);

describe('A file with secrets for signatures', () => {
  let folder: string;
  let path: string;
  let learned: string[];

  beforeEach(() => {
    folder = temporaryFolder();
    path = join(folder, 'hook');
    learned = [];
  });

  const open = () => openSecretFile(folder, 'hook', (value) => learned.push(value));
  const texts = (file: ReturnType<typeof open>) => file.read().map(String);

  it('gives one secret for each line, registers them with the log once, and follows the file', () => {
    writeFileSync(path, `${first}\r\n\n  ${second}  \n`);
    const file = open();
    expect(texts(file)).to.deep.equal([first, second]);
    expect(texts(file)).to.deep.equal([first, second]);
    expect(learned).to.deep.equal([first, second]);
    writeFileSync(path, second);
    expect(texts(file)).to.deep.equal([second]);
  });

  const broken: readonly (readonly [string, string | null, string, string])[] = [
    ['is missing', null, 'signing_secret_missing', 'there is no secret'],
    ['is empty', '\n \n', 'signing_secret_unusable', 'holds no secret'],
    ['has a short one', `${first}\nhunter2`, 'signing_secret_unusable', 'a secret of 7 characters'],
    [
      'has one of a single character',
      'x',
      'signing_secret_unusable',
      'a secret of 1 character: must have 16 to 4,096',
    ],
    ['has a long one', 'x'.repeat(4_097), 'signing_secret_unusable', 'a secret of 4,097 characters'],
  ];
  for (const [title, content, code, words] of broken) {
    it(`is refused where it ${title}, without a word of its content`, () => {
      if (content !== null) writeFileSync(path, content);
      expect(() => open().read())
        .to.throw(CoreError, words)
        .that.includes({ code })
        .with.property('message')
        .that.contains(path)
        .and.does.not.contain('hunter2');
    });
  }
});

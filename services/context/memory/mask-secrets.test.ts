import { expect } from 'chai';
import { processorTime } from '../../../test/fixtures/processor-time.ts';
import { masked } from './mask-secrets.ts';

describe('Masking secrets in what is remembered', () => {
  for (const [text, kept] of [
    [
      'the database has password=hunter2 since May',
      'the database has password=[redacted password] since May',
    ],
    ['Password: s3cret!', 'Password: [redacted password]'],
    ['DB_PASSWD=Tr0ub4dor&3', 'DB_PASSWD=[redacted generic_secret]'],
    ['{"password": "a b", "pwd":"corr3ct"}', '{"password": "a b", "pwd":"[redacted password]"}'],
    ["client_secret = 'q1w2e3r4'", "client_secret = '[redacted generic_secret]'"],
    ['pwd: 12345678.', 'pwd: [redacted password].'],
    ['passphrase => `blue-horse-7`', 'passphrase => `[redacted password]`'],
  ] as const)
    it(`hides what stands there in ${JSON.stringify(text)}`, () => {
      expect(masked(text)).to.deep.equal({ text: kept, count: 1 });
    });

  for (const text of [
    'password: string; secret: boolean',
    'Passwords: at least 12 characters',
    'password: must have 8 characters',
    'the password = process.env.DB_PASS1 and secret: config.secret2',
    'password == other1! or password === b4nana',
    'password=$DB_PASSWORD1 or $SECRET_1 or %PASS1%',
    'password: argon2id with 64 MiB; secret: oauth2-proxy',
    'PWD=/home/mira2/work pwd: ~/core2 secret=./secrets/db1',
    'secret: https://vault.demo/v1/x',
    'const password = readPassword1(); password: Option1<String>',
    'password=example123 secret: changeme1',
    'password: hunter',
    'the secret of 3 words: none',
    'password: 2026-05-01 was the last change',
  ])
    it(`leaves ${JSON.stringify(text)} as it is`, () => {
      expect(masked(text)).to.deep.equal({ text, count: 0 });
    });

  it('stays fast on hostile text', () => {
    for (const piece of ['password=', 'pwd ', 'secret:"', 'password="a1', 'pwd:1']) {
      const spent = processorTime();
      masked(piece.repeat(100_000 / piece.length));
      expect(spent(), piece).to.be.below(10_000);
    }
  });
});

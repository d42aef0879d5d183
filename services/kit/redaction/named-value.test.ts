import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { findSecrets, Redactor } from './redactor.ts';

const lines = readFileSync(new URL('../../../test/fixtures/redaction/lines.tsv', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => line.split('\t'));
const redactor = new Redactor();
const mark = '[redacted generic_secret]';

const names = ['password', 'passwd', 'pwd', 'secret', 'token', 'api_key', 'api-key', 'apikey', 'private_key'];
const writings: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name.toUpperCase(),
  (name) => `DB_${name.toUpperCase()}`,
  (name) => `my_${name}`,
  (name) => name[0]!.toUpperCase() + name.slice(1),
  (name) => name.replace(/[_-](\w)/, (_, letter: string) => letter.toUpperCase()),
  (name) => `${name}_2`,
];
const assignments: readonly ((name: string, value: string) => string)[] = [
  (name, value) => `${name}=${value}`,
  (name, value) => `${name}: ${value}`,
  (name, value) => `  "${name}": "${value}",`,
  (name, value) => `const ${name} = '${value}';`,
  (name, value) => `${name} => "${value}"`,
  (name, value) => `${name} := "${value}"`,
  (name, value) => `<${name}>${value}</${name}>`,
  (name, value) => `https://host.test/?${name}=${value}&x=1`,
];

const name = fc
  .tuple(fc.constantFrom(...names), fc.constantFrom(...writings))
  .map(([word, write]) => write(word));
const assignment = fc.constantFrom(...assignments);
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** As a generator of passwords draws it. */
const value = fc
  .tuple(fc.integer({ min: 8, max: 40 }), fc.infiniteStream(fc.noShrink(fc.nat(alphabet.length - 1))))
  .map(([length, drawn]) => Array.from({ length }, () => alphabet[drawn.next().value!]).join(''))
  .filter((text) => /\d/.test(text) && /[a-z]/.test(text) && /[A-Z]/.test(text));
const harmless = fc.constantFrom(
  ...[
    '$' + '{X_1}',
    '$X_PASSWORD_1',
    'process.env.X_1',
    'vault:kv/data/app1#key',
    'os.environ.X_1',
    '%X_1_PASS%',
  ],
  ...[
    'changeme',
    'changeme123',
    'your_password_1',
    'XXXXXXXX1x2x3x',
    'password1',
    'test-token-2',
    'correct',
    'strawberry',
  ],
  ...[
    'op://vault/item1/field2',
    'settings.database1',
    '0199f3c2-1a2b-7abc-8def-0123456789ab',
    '12345678',
    'v1.22.333',
  ],
);

describe('A value beside a name such as password', () => {
  for (const [expected, ...rest] of lines) {
    // `\\n` ends a line, `\\\\n` is a backslash and an n.
    const line = rest.join('\t').replaceAll(/\\(\\?)n/g, (_, slash: string) => (slash === '' ? '\n' : '\\n'));
    it(`is ${expected === 'yes' ? '' : 'not '}a secret: ${rest.join(' ')}`, () => {
      expect(findSecrets(line).map(({ kind }) => kind)).to.deep.equal(
        expected === 'yes' ? ['generic_secret'] : [],
      );
    });
  }

  it('is a secret from 8 characters on where it is drawn by chance, in every casing and way of assigning', () => {
    const drawn = fc.sample(fc.tuple(name, value, assignment), { numRuns: 4_000, seed: 1 });
    const missed = drawn.filter(
      ([named, secret, assign]) => redactor.redact(assign(named, secret)) !== assign(named, mark),
    );
    // What chance makes look like a word or a token of a vendor.
    expect(missed.map(([, secret]) => secret)).to.have.length.at.most(drawn.length / 100);
  });

  it('is not a secret where it is a placeholder, a reference, an id, a number or a word', () => {
    fc.assert(
      fc.property(name, harmless, assignment, (named, text, assign) => {
        expect(findSecrets(assign(named, text)), assign(named, text)).to.deep.equal([]);
      }),
      { numRuns: 1_000 },
    );
  });

  it('stays masked as it is when it is masked again', () => {
    fc.assert(
      fc.property(name, value, assignment, (named, secret, assign) => {
        const once = redactor.redact(assign(named, secret));
        expect(redactor.redact(once)).to.equal(once);
      }),
    );
  });
});

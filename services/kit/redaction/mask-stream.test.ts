import { expect } from 'chai';
import fc from 'fast-check';
import { MaskStream } from './mask-stream.ts';
import { secretFinder } from './secret-finder.ts';

const finder = secretFinder([]);
const random = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6';
const secrets = [
  ['ghp', random].join('_'),
  `password = "${random}"`,
  `https://mira:${random.slice(0, 12)}@host/`,
  ['-----BEGIN RSA', 'PRIVATE KEY-----\n'].join(' ') +
    `${random}${random}\n`.repeat(20) +
    ['-----END RSA', 'PRIVATE KEY-----'].join(' '),
  `authorization: Bearer ${random}`,
  // As long as one of 4096 bits: the secret part alone is longer than what is searched again.
  [
    'PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nPublic-Lines: 12\n',
    `${random.slice(4)}${random.slice(4)}\n`.repeat(12),
    `Private-Lines: 36\n${`${random}${random.slice(8)}\n`.repeat(36)}`,
    'Private-MAC: 9f86d081884c7d65',
  ].join(''),
];

function streamed(text: string, cuts: readonly number[], found: string[] = []): string {
  const stream = new MaskStream(finder, ({ kind }) => found.push(kind));
  const bytes = Buffer.from(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  const parts = [0, ...places].map((from, index) =>
    stream.push(bytes.subarray(from, places[index] ?? bytes.length)),
  );
  return Buffer.concat([...parts, stream.end()]).toString('utf8');
}

describe('Output that is masked as it comes', () => {
  it('is the masked text, wherever it was cut', () => {
    const piece = fc.oneof(
      fc.constantFrom(...secrets),
      fc.constantFrom('\n', ' ', '....', 'ok 1 – größer\n', 'token ', '-----BEGIN ', '"'),
      fc.string({ maxLength: 30 }),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 30 }),
        fc.array(fc.nat(), { maxLength: 40 }),
        (pieces, cuts) => {
          const text = pieces.join(' ').toWellFormed();
          expect(streamed(text, cuts)).to.equal(finder.mask(text));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('never shows a secret that comes byte by byte, and counts it once', () => {
    for (const secret of secrets) {
      const text = `before\n${secret}\nafter\n`;
      const found: string[] = [];
      const masked = streamed(text, [...Array(text.length).keys()], found);
      expect(masked, secret).to.equal(finder.mask(text)).and.not.contain(random);
      expect(found).to.have.length(1);
    }
  });

  it('passes at once what cannot be part of a secret', () => {
    const stream = new MaskStream(finder);
    expect(stream.push(Buffer.from('..')).toString()).to.equal('..');
    expect(stream.push(Buffer.from('.. ok\nnext')).toString()).to.equal('.. ok\n');
    expect(stream.push(Buffer.from(' line\n')).toString()).to.equal('next line\n');
    expect(stream.push(Buffer.from('a =>')).toString()).to.equal('a =>');
    expect(stream.push(Buffer.from(' ->')).toString()).to.equal(' ->');
    const certificate = '-----BEGIN CERTIFICATE-----\n';
    expect(stream.push(Buffer.from(certificate)).toString()).to.equal(certificate);
  });

  it('passes at once what follows a whole private key', () => {
    for (const key of [secrets[3]!, secrets[5]!]) {
      const stream = new MaskStream(finder);
      stream.push(Buffer.from(`${key}\n`));
      expect(stream.push(Buffer.from('ok 1\nok 2\n')).toString()).to.equal('ok 1\nok 2\n');
    }
  });

  it('keeps bytes that are no text, and holds no more than a part of what never ends', () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x00, 0x0a, 0xe2, 0x0a]);
    const stream = new MaskStream(finder);
    expect(Buffer.concat([stream.push(bytes), stream.end()])).to.deep.equal(bytes);
    let passed = 0;
    for (let count = 0; count < 50; count++) passed += stream.push(Buffer.from('x'.repeat(10_000))).length;
    expect(500_000 - passed).to.be.below(50_000);
  });

  it('shows no part of a secret that begins at the end of a long piece', () => {
    for (const secret of secrets) {
      const stream = new MaskStream(finder);
      const parts = [`${'ok 1\n'.repeat(10_000)}${secret.slice(0, -4)}`, `${secret.slice(-4)}\n`];
      const masked = Buffer.concat([...parts.map((part) => stream.push(Buffer.from(part))), stream.end()]);
      expect(masked.toString()).to.equal(finder.mask(parts.join('')));
    }
  });

  it('holds a private key without an end no longer than the longest that there is', () => {
    for (const begin of [['-----BEGIN', 'PRIVATE KEY-----'].join(' '), 'PuTTY-User-Key-File-3: none']) {
      const stream = new MaskStream(finder);
      let passed = '';
      for (let count = 0; count < 20; count++)
        passed += stream
          .push(Buffer.from(`${count === 0 ? begin : '...'}\n${'. \n'.repeat(1_000)}`))
          .toString();
      expect(passed).to.contain(begin).and.to.have.length.above(40_000);
    }
  });

  it('marks once what had to go out before its end was there', () => {
    const stream = new MaskStream(finder);
    const secret = ['ghp', random].join('_');
    let masked = stream.push(Buffer.from(`${'x'.repeat(40_000)}/${secret}`)).toString();
    for (const letter of '/rest of it') masked += stream.push(Buffer.from(letter)).toString();
    masked += stream.end().toString();
    expect(masked).to.equal(finder.mask(`${'x'.repeat(40_000)}/${secret}/rest of it`));
  });
});

import { expect } from 'chai';
import { findSecrets, maskSpans, secretSpans } from './find-secrets.ts';

/** Put together here, so that no file holds what looks like a secret. */
const token = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
const key = (lines: number) =>
  [
    '-----BEGIN EC PRIVATE KEY-----',
    ...Array<string>(lines).fill('MHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04fSeQ6tF1aY7Qz'),
    '-----END EC PRIVATE KEY-----',
  ].join('\n');
const generic = (value: string) => findSecrets(`api_key = "${value}"`).map(({ kind }) => kind);

describe('findSecrets', () => {
  it('finds a token behind an escape of an address', () => {
    for (const text of [`/v1/runs/a%20${token}`, `?q=${encodeURIComponent(`greet ${token}`)}`])
      expect(
        findSecrets(text).map(({ kind }) => kind),
        text,
      ).to.deep.equal(['github_token']);
  });

  it('finds a secret behind escapes, and masks neither an escape nor what follows it', () => {
    const drawn = ['k3Jx9QpL', 'm2Zt8VbW'].join('');
    const lines = `password: |\n  ${drawn}\nDB_PASSWORD=${drawn}\nX=1\n`;
    const inner = JSON.stringify({ password: drawn, 'api-key': drawn, lines });
    for (const text of [
      inner,
      JSON.stringify({ inner }),
      JSON.stringify({ outer: JSON.stringify({ inner }) }),
    ]) {
      const found = findSecrets(`first\n${text}`);
      expect(
        found.map(({ line, start, end }) => [line, `first\n${text}`.slice(start, end)]),
        text,
      ).to.deep.equal(Array(4).fill([2, drawn]));
      expect(() => JSON.parse(maskSpans(text, secretSpans(text)))).not.to.throw();
    }
  });

  it('takes time in proportion to a text of near matches', () => {
    for (const part of [
      '\\',
      '\\\\n',
      'password=',
      'password["',
      '|password|a1',
      'password=a1(',
      'PASSWORD_MYSQL_',
    ]) {
      const [short, long] = [10_000, 80_000].map((length) => {
        const text = part.repeat(length / part.length);
        const started = performance.now();
        secretSpans(text);
        return performance.now() - started;
      });
      // Quadratic time would be 64 times as long; a busy machine distorts short times.
      expect(long, part).to.be.lessThan(Math.max(2_000, short! * 32));
    }
  }).timeout(60_000);

  it('says line, place and fingerprint of each secret', () => {
    const text = `first ${token}\nsecond\nthird ${token} ${token}\n\n${token}`;
    const found = findSecrets(text);
    expect(found.map(({ line }) => line)).to.deep.equal([1, 3, 3, 5]);
    for (const { kind, start, end, fingerprint } of found) {
      expect(kind).to.equal('github_token');
      expect(text.slice(start, end)).to.equal(token);
      expect(fingerprint).to.match(/^sha256:[0-9a-f]{16}$/);
      expect(fingerprint).to.equal(found[0]!.fingerprint);
    }
    expect(findSecrets(`\n${token}`)[0]!.line).to.equal(2);
  });

  it('finds nothing inside what it has found, and what begins where another ends', () => {
    const nested = `https://mira:${token}@example.org/`;
    expect(findSecrets(nested)).to.have.length(1);
    const beside = `token = "${token}"`;
    expect(findSecrets(beside)).to.have.length(1);
    expect(
      maskSpans('abcdef', [
        { kind: 'x', start: 0, end: 3 },
        { kind: 'y', start: 3, end: 6 },
      ]),
    ).to.equal('[redacted x][redacted y]');
  });

  it('keeps the lines of what follows a mask', () => {
    const text = `${key(3)}\nafter`;
    const masked = maskSpans(text, secretSpans(text));
    expect(masked).to.equal(`[redacted private_key]${'\n'.repeat(4)}\nafter`);
  });

  it('takes a value under a name that gives it away for a secret only where it looks random', () => {
    expect(generic('q8ZrT3vK1xWmP6sLd9Yb')).to.deep.equal(['generic_secret']);
    expect(generic('OpenFile2Jump5ZoneWith3GrabText')).to.deep.equal([]);
    // Twelve of twenty characters are in no word.
    expect(generic('Q1wE2rT3yU4i8Zxplmbn')).to.deep.equal(['generic_secret']);
  });

  it('finds a password in an address without a scheme, and takes images, packages and mail for none', () => {
    const drawn = ['k3Jx9Qp', 'Lm2Zt'].join('');
    for (const text of [
      `app:${drawn}@db.example.com:5432/app`,
      `app:${drawn}@tcp(127.0.0.1:3306)/db`,
      `dsn := "app:${['Summer', '2026!'].join('')}@db:3306/app"`,
      `//registry:${drawn}@host/x`,
      `jdbc:oracle:thin:scott/${drawn}@//db:1521/x`,
    ])
      expect(
        findSecrets(text).map(({ kind }) => kind),
        text,
      ).to.deep.equal(['url_password']);
    for (const text of [
      'user:pass@tcp(127.0.0.1:3306)/db',
      'image: postgres:14-alpine3.18@sha256:0123',
      'npm:left2pad3x9@example.com',
      'mailto:mira81kk20x@example.com',
      'see a1b2c3:foo_bar_baz@example.com',
    ])
      expect(findSecrets(text), text).to.deep.equal([]);
  });

  it('takes published examples, repeated characters, a user’s own name and badges for no secret', () => {
    for (const text of [
      '"access_token":"2YotnFZFEjr1zCsicMWpAA"',
      'ghp_PersonalAccessToken01245678900000000',
      'http://elastic:elastic@127.0.0.1:9210',
      'nats://derek:secretpassword@demo.nats.io',
      'https://host.test/badge.svg?token=6B6NxtsZc3',
    ])
      expect(findSecrets(text), text).to.deep.equal([]);
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { base64, hex, secretSamples, uuid } from '../../../test/fixtures/redaction/secret-samples.ts';
import { findSecrets, Redactor } from './redactor.ts';
import { secretRules } from './secret-rules.ts';

describe('Each kind of secret', () => {
  const redactor = new Redactor();

  it('has a sample here', () => {
    expect(Object.keys(secretSamples).sort()).to.deep.equal(
      [...new Set(secretRules.map(({ kind }) => kind))].sort(),
    );
  });

  for (const [kind, texts] of Object.entries(secretSamples)) {
    it(`is known: ${kind}`, () => {
      for (const sample of texts) {
        const [text, secret] = typeof sample === 'string' ? [sample, sample] : sample;
        for (const around of [text, `it is ${text}, you know`, `{"a":"x"}\n${text}\n`]) {
          expect(
            findSecrets(around).map((found) => found.kind),
            around,
          ).to.include(kind);
          expect(redactor.redact(around)).to.contain(`[redacted ${kind}]`).and.not.contain(secret);
        }
      }
    });
  }
});

describe('What is no secret', () => {
  const root = fileURLToPath(new URL('../../../', import.meta.url));

  it('is left alone: hashes, ids, integrity strings and pictures, also beside telling names', () => {
    const texts = [
      `commit ${hex(40)}`,
      `token_id: ${uuid}`,
      `"secret": "${uuid}"`,
      `password_hash = "${hex(64)}"`,
      `"integrity": "sha512-${base64(86)}=="`,
      `token: "sha256-${base64(43)}="`,
      `secretDigest = 'sha512:${hex(128)}'`,
      `api_key_fingerprint: sha256:${hex(16)}`,
      `<img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA${base64(4_000)}=">`,
      `const tokenOfTheNextRequest2 = nextRequestTokenOf(previousRequest2);`,
      `etag: W/"${hex(32)}"`,
      `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${base64(43)} mira@laptop`,
      `resolved "https://registry.example.org/a/-/a-1.0.0.tgz#${hex(40)}"`,
      `endpoint.headers.authorization = authentication.headers.authorization;`,
      `run_0199f3c2-0000-7000-8000-000000000000 act_01_${hex(8)}`,
    ];
    for (const text of texts) expect(findSecrets(text), text).to.deep.equal([]);
  });

  it('is left alone in real lock files and source trees', () => {
    const trees = [
      'koa',
      'commander',
      'winston',
      'ws',
      'undici',
      'io-ts',
      'chai',
      'octokit',
      'prom-client',
      'execa',
      'oidc-provider',
      'markdown-it',
      '@types',
      '@modelcontextprotocol',
      'testcontainers',
      'pg',
    ];
    const locks = ['package-lock.json', 'site/package-lock.json'];
    const files = [...locks, ...trees.flatMap((name) => filesBelow(join('node_modules', name)))];
    const hits = files.flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      return findSecrets(text).map(({ kind, line }) => `${kind} in ${file}:${line}`);
    });
    expect(files.length).to.be.above(1_500);
    expect(hits, 'at most one in a thousand files').to.have.length.at.most(files.length / 1_000);
  });

  function filesBelow(folder: string): string[] {
    return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(?:[cm]?[jt]s|json|md)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
  }
});

describe('The search for secrets', () => {
  it('takes a time that grows with the text and no faster, whatever the text is', () => {
    const pieces = [
      'a',
      'A',
      '0',
      ' ',
      '.',
      '-',
      '_',
      ':',
      '/',
      '=',
      '\n',
      'token',
      'token=',
      'secret: ',
      'aws secret key ',
      'twilio token ',
      'discord M',
      'key-0',
      'sk-',
      'eyJ',
      'eyJa.',
      'https://a:',
      'authorization: ',
      '0123456789abcdef',
      'Q~',
      'AccountKey=',
      '-us',
      'ACDb',
      '-----BEGIN PRIVATE KEY-----\n',
      'PuTTY-User-Key-File-3 Private-Lines: 1\n',
      'hvs.',
      '.atlasv1.',
      'SG.a.',
      '/webhooks/1',
      'pat',
      ':AA',
      'sig=',
      'AKIA',
      'gitea token = "',
    ];
    for (const piece of pieces) {
      const cost = (length: number) => {
        const text = piece.repeat(Math.ceil(length / piece.length));
        return Math.min(...[1, 2, 3].map(() => timeOf(() => findSecrets(text))));
      };
      const small = cost(20_000);
      // Eight times the text: linear is 8, quadratic 64. What takes less than a millisecond cannot be compared.
      const ratio = cost(160_000) / Math.max(small, 1_000);
      expect(ratio, JSON.stringify(piece)).to.be.below(30);
    }
  });

  /** Microseconds of this process, which other processes do not lengthen. */
  function timeOf(work: () => void): number {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  }
});

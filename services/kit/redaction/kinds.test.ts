import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { findSecrets, Redactor } from './redactor.ts';
import { secretRules } from './secret-rules.ts';

/** Letters as if drawn by chance, the same in each run; put together here, so that no file holds what looks like a secret. */
function letters(length: number, alphabet: string): string {
  let state = 12_345;
  let text = '';
  for (let index = 0; index < length; index++) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    text += alphabet[Math.floor((state / 2_147_483_648) * alphabet.length)];
  }
  return text;
}
const digits = '0123456789';
const lower = 'abcdefghijklmnopqrstuvwxyz';
const upper = lower.toUpperCase();
const hex = (length: number) => letters(length, '0123456789abcdef');
const word = (length: number) => letters(length, upper + lower + digits);
const number = (length: number) => letters(length, digits);
const base64 = (length: number) => letters(length, `${upper}${lower}${digits}+/`);
const uuid = '7f3c91a2-5be4-4d08-9a6e-c1d27b85f043';
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const pem = (name: string) =>
  [`-----BEGIN ${name}-----`, base64(64), base64(64), `-----END ${name}-----`].join('\n');
const joined = (...parts: string[]) => parts.join('');

/** Texts of each kind, as they stand in files, and in each the secret alone where it is not the whole. */
const samples: Readonly<Record<string, readonly (string | readonly [text: string, secret: string])[]>> = {
  core_token: [joined('core_', 'mira_', hex(48))],
  github_token: [
    ...['p', 'o', 'u', 's', 'r'].map((kind) => joined(`gh${kind}_`, word(36))),
    joined('github', '_pat_', word(82)),
  ],
  gitlab_token: [
    ...['pat', 'dt', 'rt', 'ptt', 'cbt', 'ft', 'imt', 'agent', 'oas', 'soat', 'ffct'].map((kind) =>
      joined('gl', kind, '-', word(20)),
    ),
    joined('GR', '1348941', word(20)),
  ],
  gitea_token: [
    [`GITEA_TOKEN=${hex(40)}`, hex(40)],
    [`forgejo_api_key: "${hex(40)}"`, hex(40)],
  ],
  atlassian_token: [joined('ATATT', '3xFfGF0', word(90), '=', hex(8).toUpperCase())],
  aws_access_key_id: [
    joined('AK', 'IA', letters(16, `${upper}234567`)),
    joined('AS', 'IA', letters(16, `${upper}234567`)),
  ],
  aws_secret_key: [[`aws_secret_access_key = ${base64(40)}`, base64(40)]],
  aws_bedrock_key: [joined('AB', 'SK', base64(128))],
  google_api_key: [joined('AI', 'za', word(35))],
  google_oauth_secret: [joined('GOC', 'SPX-', word(28))],
  google_oauth_token: [joined('ya', '29.', word(60))],
  azure_storage_key: [
    [`DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${base64(86)}==`, `${base64(86)}==`],
  ],
  azure_key: [
    joined(base64(76), 'AC', 'Db', word(5), 'A=='),
    joined(base64(33), 'AI', 'oT', 'A', word(5), '='),
    joined(word(44), 'Az', 'Fu', word(5), 'A=='),
    joined(word(42), 'Az', 'Se', 'A', word(5)),
  ],
  azure_client_secret: [joined('Abc', '8', 'Q', '~', word(34))],
  azure_devops_token: [joined(word(76), 'AZ', 'DO', word(4))],
  azure_signature: [[`https://a.blob.core.windows.net/b?sv=2024&sig=${word(43)}%3D`, `${word(43)}%3D`]],
  digitalocean_token: ['p', 'o', 'r'].map((kind) => joined(`do${kind}`, '_v1_', hex(64))),
  heroku_key: [joined('HRKU', '-AA', word(58)), [`HEROKU_API_KEY=${uuid}`, uuid]],
  alibaba_key_id: [joined('LT', 'AI', word(20))],
  cloudflare_token: [
    [`CLOUDFLARE_API_TOKEN=${word(40)}`, word(40)],
    joined('v1', '.0-', hex(24), '-', hex(146)),
  ],
  fly_token: [joined('fo', '1_', word(43)), joined('fm', '2_', base64(120))],
  netlify_token: [joined('nf', 'p_', word(36))],
  scaleway_key: [joined('SC', 'W', letters(17, upper + digits))],
  tailscale_key: [joined('ts', 'key-', 'auth-', word(12), '-', word(32))],
  supabase_key: [joined('sb', 'p_', hex(40)), joined('sb_', 'secret_', word(31))],
  planetscale_token: [joined('psc', 'ale_tkn_', word(43))],
  databricks_token: [joined('da', 'pi', hex(32))],
  doppler_token: [joined('dp', '.pt.', word(43)), joined('dp', '.st.dev_personal.', word(43))],
  pulumi_token: [joined('pu', 'l-', hex(40))],
  terraform_token: [joined(word(14), '.atlas', 'v1.', word(64))],
  vault_token: [
    joined('hv', 's.', word(90)),
    joined('hv', 'b.', word(140)),
    [`VAULT_TOKEN=s.${word(24)}`, `s.${word(24)}`],
  ],
  onepassword_token: [joined('ops', '_eyJ', word(250))],
  docker_token: [joined('dc', 'kr_pat_', word(27))],
  sonar_token: [joined('sq', 'u_', hex(40))],
  jfrog_key: [joined('AK', 'Cp', word(69))],
  circleci_token: [joined('CCI', 'PAT_', word(22), '_', hex(40))],
  buildkite_token: [joined('bk', 'ua_', hex(40))],
  npm_token: [joined('np', 'm_', word(36))],
  pypi_token: [joined('py', 'pi-AgE', 'IcHlwaS5vcmc', word(80))],
  rubygems_token: [joined('ruby', 'gems_', hex(48))],
  nuget_key: [joined('oy', '2', letters(43, lower + digits))],
  crates_token: [joined('ci', 'o', word(32))],
  clojars_token: [joined('CLO', 'JARS_', hex(60))],
  anthropic_key: [joined('sk-', 'ant-', 'api03-', word(93), 'AA')],
  openai_key: [
    joined('sk-', 'proj-', word(74)),
    joined('sk', '-', word(48)),
    joined('sk-', 'svcacct-', word(74)),
  ],
  openrouter_key: [joined('sk-', 'or-', 'v1-', hex(64))],
  huggingface_token: [
    joined('h', 'f_', letters(34, upper + lower)),
    joined('api', '_org_', letters(34, upper + lower)),
  ],
  groq_key: [joined('gs', 'k_', word(52))],
  xai_key: [joined('xa', 'i-', word(80))],
  perplexity_key: [joined('pp', 'lx-', word(48))],
  replicate_token: [joined('r', '8_', word(37))],
  langsmith_key: [joined('lsv', '2_pt_', hex(32), '_', hex(10))],
  slack_token: [
    joined('xo', 'xb-', number(12), '-', number(12), '-', word(24)),
    joined('xa', 'pp-1-A', letters(10, upper + digits), '-', number(13), '-', hex(64)),
    joined('xo', 'xe.xo', 'xp-1-', word(160)),
  ],
  slack_webhook: [
    joined(
      'hooks.sla',
      'ck.com/services/T',
      letters(10, upper + digits),
      '/B',
      letters(10, upper + digits),
      '/',
      word(24),
    ),
  ],
  discord_webhook: [joined('disc', 'ord.com/api/webhooks/', number(18), '/', word(68))],
  discord_token: [
    [
      joined('DISCORD_TOKEN=', 'MT', word(22), '.', word(6), '.', word(38)),
      joined('MT', word(22), '.', word(6), '.', word(38)),
    ],
  ],
  telegram_token: [joined(number(10), ':A', 'A', word(33))],
  teams_webhook: [
    joined(
      'contoso.web',
      'hook.office.com/webhookb2/',
      uuid,
      '@',
      uuid,
      '/IncomingWebhook/',
      hex(32),
      '/',
      uuid,
    ),
  ],
  sendgrid_key: [joined('S', 'G.', word(22), '.', word(43))],
  mailgun_key: [
    joined('ke', 'y-', hex(32)),
    [`MAILGUN_API_KEY=${hex(32)}-${hex(8)}-${hex(8)}`, `${hex(32)}-${hex(8)}-${hex(8)}`],
  ],
  mailchimp_key: [joined(hex(32), '-u', 's12')],
  brevo_key: [joined('xkey', 'sib-', hex(64), '-', word(16))],
  twilio_key: [joined('S', 'K', hex(32)), [`TWILIO_AUTH_TOKEN=${hex(32)}`, hex(32)]],
  stripe_key: ['sk_live_', 'rk_live_', 'sk_test_'].map((start) => joined(start, word(24))),
  stripe_webhook_secret: [joined('wh', 'sec_', word(32))],
  square_token: [joined('sq0', 'atp-', word(22)), joined('EA', 'AA', word(60))],
  shopify_token: ['at', 'ca', 'pa', 'ss'].map((kind) => joined('sh', `p${kind}_`, hex(32))),
  shippo_token: [joined('ship', 'po_live_', hex(40))],
  easypost_key: [joined('EZ', 'AK', word(54))],
  grafana_token: [
    joined('gl', 'sa_', word(32), '_', hex(8)),
    joined('gl', 'c_', base64(80)),
    joined('eyJ', 'rIjoi', word(80)),
  ],
  sentry_token: [joined('sn', 'trys_', 'eyJ', word(90)), joined('sn', 'tryu_', hex(64))],
  newrelic_key: [joined('NR', 'AK-', letters(27, upper + digits))],
  dynatrace_token: [joined('dt', '0c01.', letters(24, upper + digits), '.', letters(64, upper + digits))],
  postman_key: [joined('PM', 'AK-', hex(24), '-', hex(34))],
  linear_key: [joined('li', 'n_api_', word(40))],
  notion_token: [joined('nt', 'n_', number(11), word(35))],
  figma_token: [joined('fi', 'gd_', word(43))],
  airtable_token: [joined('pa', 't', word(14), '.', hex(64))],
  contentful_token: [joined('CF', 'PAT-', word(43))],
  typeform_token: [joined('tf', 'p_', word(50))],
  readme_key: [joined('rd', 'me_', letters(70, lower + digits))],
  prefect_key: [joined('pn', 'u_', word(36))],
  age_key: [joined('AGE-SEC', 'RET-KEY-1', letters(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L'))],
  private_key: [
    pem('RSA PRIVATE KEY'),
    pem('OPENSSH PRIVATE KEY'),
    pem('PGP PRIVATE KEY BLOCK'),
    pem('ENCRYPTED PRIVATE KEY'),
    // As in the key file of a service account.
    [`{"type":"service_account","private_key":${JSON.stringify(pem('PRIVATE KEY'))}}`, base64(64)],
    [
      `PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPublic-Lines: 1\nAAAA\nPrivate-Lines: 1\n${base64(48)}\nPrivate-MAC: 00\n`,
      base64(48),
    ],
  ],
  json_web_token: [`${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub: word(8), iat: 1 })}.${word(43)}`],
  url_password: [[`postgres://app:${word(16)}@db.internal:5432/app`, word(16)]],
  authorization_header: [[`authorization: Bearer ${word(32)}`, word(32)]],
  generic_secret: [
    [`api_key = "${word(32)}"`, word(32)],
    [`CLIENT_SECRET=${word(32)}`, word(32)],
  ],
};

describe('Each kind of secret', () => {
  const redactor = new Redactor();

  it('has a sample here', () => {
    expect(Object.keys(samples).sort()).to.deep.equal(
      [...new Set(secretRules.map(({ kind }) => kind))].sort(),
    );
  });

  for (const [kind, texts] of Object.entries(samples)) {
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
  const root = new URL('../../../', import.meta.url).pathname;

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
    ];
    const locks = ['package-lock.json', 'site/package-lock.json'];
    const files = [...locks, ...trees.flatMap((name) => filesBelow(join('node_modules', name)))];
    const hits = files.flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      return findSecrets(text).map(({ kind, line }) => `${kind} in ${file}:${line}`);
    });
    expect(files.length).to.be.above(500);
    expect(hits).to.deep.equal([]);
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

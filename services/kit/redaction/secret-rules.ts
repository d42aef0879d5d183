/** A form that secrets are known by. */
export interface SecretRule {
  readonly kind: string;
  /** Words of which one must be in the text, so that most text is never matched at all. */
  readonly keywords: readonly string[];
  /** The group `secret` is the part to hide. */
  readonly pattern: RegExp;
  /** Least Shannon entropy of the secret in bits for each character; examples in documents have less. */
  readonly entropy: number;
  /** What matches and is no secret. */
  readonly allow: readonly RegExp[];
  /** Names and paths match too: only what is random is a secret. */
  readonly random?: true;
}

/** Such as `glpat-put-the-token-here`; no random value has neither digits nor capitals. */
const prose = /^[a-z_-]+$/;
/** Examples that say that they are some. */
const placeholder =
  /example|placeholder|changeme|your[_-]|xxxx|\*{4}|\.\.\.|<|redacted|0123456789|1234567890|abcdefgh/i;
/** As lock files and signatures write them. */
const digest = /^(?:sha(?:1|224|256|384|512)|md5|blake[23][bs]?)[-:=]/i;
/** Such as `response.headers.authorization` in code. */
const member = /^[A-Za-z_]+(?:\.[A-Za-z_]+)*$/;

const before = '(?<![A-Za-z0-9_])';
const after = '(?![A-Za-z0-9_])';
const nameWords = ['ecret', 'ECRET', 'oken', 'OKEN', 'assw', 'ASSW', 'pi_key', 'PI_KEY', 'piKey', 'api-key'];

function token(kind: string, keywords: readonly string[], source: string, entropy = 3): SecretRule {
  return {
    kind,
    keywords,
    pattern: new RegExp(`${before}(?<secret>${source})${after}`, 'dg'),
    entropy,
    allow: [prose],
  };
}

/** A form so peculiar that it is one whatever stands around it. */
function mark(kind: string, keywords: readonly string[], source: string): SecretRule {
  return { kind, keywords, pattern: new RegExp(`(?<secret>${source})`, 'dg'), entropy: 3, allow: [prose] };
}

/** A value that differs from an id only by the name before it, as in `name_token = "value"`. */
function assigned(kind: string, keywords: readonly string[], name: string, source: string): SecretRule {
  const pattern = `${before}${name}[\\w .-]{0,20}(?:token|key|secret|password|pat|auth)[\\w-]{0,10}["']?\\s{0,5}(?:=>|:=|[:=])\\s{0,5}["']?(?<secret>${source})(?![A-Za-z0-9/+=_-])`;
  return { kind, keywords, pattern: new RegExp(pattern, 'dgi'), entropy: 3, allow: [placeholder] };
}

/** The word as it stands in the names of constants, of variables and in text. */
function spellings(word: string): string[] {
  return [word, word.toUpperCase(), `${word[0]!.toUpperCase()}${word.slice(1)}`];
}

/**
 * Formats as their makers publish them, in their documentation or for the secret scanning of forges; lengths are lower bounds where
 * they grow. Of two that match at one place the wider one names the secret.
 */
export const secretRules: readonly SecretRule[] = [
  mark('core_token', ['core_'], 'core_[a-z0-9][a-z0-9-]{0,39}_[0-9a-f]{48}'),

  // Forges
  mark('github_token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], 'gh[pousr]_[A-Za-z0-9]{36,251}'),
  mark('github_token', ['github_pat_'], 'github_pat_[A-Za-z0-9_]{22,255}'),
  mark(
    'gitlab_token',
    [
      'glpat-',
      'gldt-',
      'glrt-',
      'glptt-',
      'glcbt-',
      'glft-',
      'glimt-',
      'glagent-',
      'gloas-',
      'glsoat-',
      'glffct-',
    ],
    'gl(?:pat|dt|rt|ptt|cbt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.-]{20,}',
  ),
  token('gitlab_token', ['GR1348941'], 'GR1348941[A-Za-z0-9_-]{20,}'),
  // Forty hex digits are also every commit id.
  assigned(
    'gitea_token',
    [...spellings('gitea'), ...spellings('forgejo')],
    '(?:gitea|forgejo)',
    '[0-9a-f]{40}',
  ),
  token('atlassian_token', ['ATATT3', 'ATCTT3'], 'AT[AC]TT3[A-Za-z0-9_=-]{80,}'),

  // Clouds and hosts
  token('aws_access_key_id', ['AKIA', 'ASIA'], '(?:AKIA|ASIA)(?![A-Z2-7]{9}EXAMPLE)[A-Z2-7]{16}', 2.5),
  {
    kind: 'aws_secret_key',
    keywords: ['aws', 'AWS', 'Aws'],
    pattern:
      /\baws[\w .-]{0,20}(?:secret|key)[\w .-]{0,20}["']?\s*[:=]\s*["']?(?<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/dgi,
    entropy: 4,
    allow: [placeholder],
  },
  token('aws_bedrock_key', ['ABSK'], 'ABSK[A-Za-z0-9+/]{109,269}={0,2}'),
  token('google_api_key', ['AIza'], 'AIza[A-Za-z0-9_-]{35}'),
  token('google_oauth_secret', ['GOCSPX-'], 'GOCSPX-[A-Za-z0-9_-]{28}'),
  token('google_oauth_token', ['ya29.'], 'ya29\\.[A-Za-z0-9_-]{30,}'),
  token('azure_storage_key', ['AccountKey'], '(?<=AccountKey=)[A-Za-z0-9+/]{86}=='),
  token(
    'azure_key',
    ['+ABa', '+AMC', '+ASt', 'ACDb', 'APIM'],
    '(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{76}(?:\\+ABa|\\+AMC|\\+ASt|ACDb|APIM)[A-Za-z0-9+/]{5}[AQgw]==',
  ),
  token(
    'azure_key',
    ['+ASb', '+AEh', '+ARm', 'AIoT'],
    '(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{33}(?:\\+ASb|\\+AEh|\\+ARm|AIoT)[A-P][A-Za-z0-9+/]{5}=',
  ),
  token('azure_key', ['AzFu'], '[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{5}[AQgw]=='),
  token('azure_key', ['AzSe'], '[A-Za-z0-9]{42}AzSe[A-D][A-Za-z0-9]{5}'),
  token('azure_client_secret', ['Q~'], '[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}'),
  token('azure_devops_token', ['AZDO'], '[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}'),
  token('azure_signature', ['sig='], '(?<=[?&;]sig=)[A-Za-z0-9%+/]{43,}(?:%3D|=)'),
  token('digitalocean_token', ['do_v1_', 'dop_v1_', 'doo_v1_', 'dor_v1_'], 'do[opr]?_v1_[0-9a-f]{64}'),
  token('heroku_key', ['HRKU-AA'], 'HRKU-AA[A-Za-z0-9_-]{58}'),
  assigned('heroku_key', spellings('heroku'), 'heroku', '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'),
  token('alibaba_key_id', ['LTAI'], 'LTAI[A-Za-z0-9]{20}'),
  assigned(
    'cloudflare_token',
    spellings('cloudflare'),
    '(?:cloudflare|cf)',
    '[A-Za-z0-9_-]{40}|[0-9a-f]{37}',
  ),
  token('cloudflare_token', ['v1.0-'], 'v1\\.0-[0-9a-f]{24}-[0-9a-f]{146}'),
  token(
    'fly_token',
    ['fo1_', 'fm1', 'fm2_'],
    '(?:fo1_[A-Za-z0-9_-]{43}|fm[12][ar]?_[A-Za-z0-9+/]{100,}={0,3})',
  ),
  token('netlify_token', ['nfp_', 'nfc_'], 'nf[pc]_[A-Za-z0-9]{36,}'),
  token('scaleway_key', ['SCW'], 'SCW[A-Z0-9]{17}'),
  token('tailscale_key', ['tskey-'], 'tskey-[a-z]+-[A-Za-z0-9]{10,}(?:-[A-Za-z0-9]{20,})?'),
  token('supabase_key', ['sbp_', 'sb_secret_'], '(?:sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{22,})'),
  token('planetscale_token', ['pscale_'], 'pscale_(?:tkn|pw|oauth)_[A-Za-z0-9=._-]{32,}'),
  token('databricks_token', ['dapi'], 'dapi[0-9a-f]{32}(?:-[0-9])?'),
  token(
    'doppler_token',
    ['dp.'],
    'dp\\.(?:pt|st|ct|sa|scim|audit)\\.(?:[a-z0-9_-]{2,35}\\.)?[A-Za-z0-9]{40,44}',
  ),
  token('pulumi_token', ['pul-'], 'pul-[0-9a-f]{40}'),
  token('terraform_token', ['.atlasv1.'], '[A-Za-z0-9]{14}\\.atlasv1\\.[A-Za-z0-9_=-]{60,70}'),
  token('vault_token', ['hvs.', 'hvb.', 'hvr.'], 'hv[sbr]\\.[A-Za-z0-9_-]{24,}'),
  assigned('vault_token', spellings('vault'), 'vault', 's\\.[A-Za-z0-9]{24}'),
  token('onepassword_token', ['ops_eyJ'], 'ops_eyJ[A-Za-z0-9+/=_-]{100,}'),
  token('docker_token', ['dckr_'], 'dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}'),
  token('sonar_token', ['squ_', 'sqp_', 'sqa_'], 'sq[upa]_[0-9a-f]{40}'),
  token('jfrog_key', ['AKCp'], 'AKCp[A-Za-z0-9]{69}'),
  token('circleci_token', ['CCIPAT_'], 'CCIPAT_[A-Za-z0-9]{22}_[0-9a-f]{40}'),
  token('buildkite_token', ['bkua_'], 'bkua_[0-9a-f]{40}'),

  // Registries of packages
  mark('npm_token', ['npm_'], 'npm_[A-Za-z0-9]{36}'),
  token('pypi_token', ['pypi-AgE'], 'pypi-AgE[A-Za-z0-9_-]{50,}'),
  token('rubygems_token', ['rubygems_'], 'rubygems_[0-9a-f]{48}'),
  token('nuget_key', ['oy2'], 'oy2[a-z0-9]{43}'),
  token('crates_token', ['cio'], 'cio[A-Za-z0-9]{32}'),
  token('clojars_token', ['CLOJARS_'], 'CLOJARS_[0-9a-fA-F]{60}'),

  // Models
  token('anthropic_key', ['sk-ant-'], 'sk-ant-[A-Za-z0-9_-]{32,}'),
  token(
    'openai_key',
    ['sk-proj-', 'sk-svcacct-', 'sk-admin-'],
    'sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{32,}',
  ),
  token('openai_key', ['sk-'], 'sk-[A-Za-z0-9]{32,}', 3.5),
  token('openrouter_key', ['sk-or-'], 'sk-or-v1-[0-9a-f]{64}'),
  token('huggingface_token', ['hf_', 'api_org_'], '(?:hf|api_org)_[A-Za-z0-9]{34,}'),
  token('groq_key', ['gsk_'], 'gsk_[A-Za-z0-9]{48,}'),
  token('xai_key', ['xai-'], 'xai-[A-Za-z0-9_-]{70,}'),
  token('perplexity_key', ['pplx-'], 'pplx-[A-Za-z0-9]{48,}'),
  token('replicate_token', ['r8_'], 'r8_[A-Za-z0-9]{37}'),
  token('langsmith_key', ['lsv2_'], 'lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}'),

  // Messages, mail and money
  token('slack_token', ['xox', 'xapp-'], '(?:xoxe\\.)?(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{20,}'),
  {
    kind: 'slack_webhook',
    keywords: ['hooks.slack.com'],
    pattern: /(?<secret>hooks\.slack\.com\/(?:services|workflows|triggers)\/[A-Za-z0-9+/]{40,})/dg,
    entropy: 3,
    allow: [placeholder],
  },
  token(
    'discord_webhook',
    ['/webhooks/'],
    'discord(?:app)?\\.com/api/(?:v\\d+/)?webhooks/\\d{17,20}/[A-Za-z0-9_-]{60,}',
  ),
  token(
    'discord_token',
    [...spellings('discord'), 'Bot ', 'oken', 'OKEN'],
    '[MNO][A-Za-z0-9_-]{23,27}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,38}',
    4,
  ),
  token('telegram_token', [':AA'], '[0-9]{8,10}:AA[A-Za-z0-9_-]{33}'),
  token(
    'teams_webhook',
    ['.webhook.office.com'],
    '[a-z0-9-]+\\.webhook\\.office\\.com/webhookb2/[A-Za-z0-9@/-]{80,}',
  ),
  token('sendgrid_key', ['SG.'], 'SG\\.[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{16,64}'),
  token('mailgun_key', ['key-'], '(?:pub)?key-[0-9a-f]{32}'),
  assigned('mailgun_key', spellings('mailgun'), 'mailgun', '[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}'),
  token('mailchimp_key', ['-us'], '[0-9a-f]{32}-us[0-9]{1,2}'),
  token('brevo_key', ['xkeysib-'], 'xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}'),
  token('twilio_key', ['SK'], 'SK[0-9a-f]{32}'),
  assigned('twilio_key', spellings('twilio'), 'twilio', '[0-9a-f]{32}'),
  token('stripe_key', ['k_live_', 'k_test_'], '[rs]k_(?:live|test)_[A-Za-z0-9]{20,}'),
  token('stripe_webhook_secret', ['whsec_'], 'whsec_[A-Za-z0-9+/]{32,}={0,2}'),
  token('square_token', ['sq0', 'EAAA'], '(?:sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43}|EAAA[A-Za-z0-9_-]{60})'),
  token('shopify_token', ['shp'], 'shp(?:at|ca|pa|ss|ua)_[0-9a-fA-F]{32}'),
  token('shippo_token', ['shippo_'], 'shippo_(?:live|test)_[0-9a-f]{40}'),
  token('easypost_key', ['EZAK', 'EZTK'], 'EZ[AT]K[A-Za-z0-9]{54}'),

  // Tools of teams
  token(
    'grafana_token',
    ['glsa_', 'glc_'],
    '(?:glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/]{32,400}={0,3})',
  ),
  token('grafana_token', ['eyJrIjoi'], 'eyJrIjoi[A-Za-z0-9]{70,400}={0,3}'),
  token('sentry_token', ['sntrys_', 'sntryu_'], 'sntry(?:s_eyJ[A-Za-z0-9+/=_]{60,}|u_[0-9a-f]{64})'),
  token('newrelic_key', ['NRAK-', 'NRJS-', 'NRII-'], 'NR(?:AK|JS|II)-[A-Za-z0-9_-]{19,32}'),
  token('dynatrace_token', ['dt0'], 'dt0[a-z][0-9]{2}\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}'),
  token('postman_key', ['PMAK-'], 'PMAK-[0-9a-f]{24}-[0-9a-f]{34}'),
  token('linear_key', ['lin_'], 'lin_(?:api|oauth)_[A-Za-z0-9]{40,}'),
  token('notion_token', ['ntn_'], 'ntn_[0-9]{11}[A-Za-z0-9]{35}'),
  token('figma_token', ['figd_'], 'figd_[A-Za-z0-9_-]{40,}'),
  token('airtable_token', ['pat'], 'pat[A-Za-z0-9]{14}\\.[0-9a-f]{64}'),
  token('contentful_token', ['CFPAT-'], 'CFPAT-[A-Za-z0-9_-]{43}'),
  token('typeform_token', ['tfp_'], 'tfp_[A-Za-z0-9_.=-]{44,59}'),
  token('readme_key', ['rdme_'], 'rdme_[a-z0-9]{70}'),
  token('prefect_key', ['pnu_'], 'pnu_[A-Za-z0-9]{36}'),

  // Keys of machines and people
  token('age_key', ['AGE-SECRET-KEY-'], 'AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}'),
  {
    kind: 'private_key',
    keywords: ['PRIVATE KEY'],
    // A whole block, or the first lines of one that was cut off, headers such as Proc-Type included. The body needs real
    // content: documents show dots.
    pattern:
      /(?<secret>-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:(?:[\s+>|#*"']|\\[nr]){0,12}[A-Za-z][A-Za-z-]{1,30}: [^\r\n\\]{0,200}(?:\r?\n|\\[nr])){0,5}(?:\\[nr]|[^-\w.]){0,60}[A-Za-z0-9+/=]{32}[^-]{0,20000}(?:-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----)?)/dg,
    entropy: 3.5,
    allow: [prose],
  },
  {
    kind: 'private_key',
    keywords: ['PuTTY-User-Key-File-'],
    pattern:
      /PuTTY-User-Key-File-[0-9][\s\S]{0,4000}?Private-Lines: [0-9]{1,4}\r?\n(?<secret>(?:[A-Za-z0-9+/=]{4,80}(?:\r?\n|$)){1,400})/dg,
    entropy: 3.5,
    allow: [prose],
  },
  {
    kind: 'json_web_token',
    keywords: ['eyJ'],
    pattern:
      /(?<![A-Za-z0-9_-])(?<secret>eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,})/dg,
    entropy: 3.5,
    allow: [prose],
  },

  // Found by the name or address around them, whoever made them
  {
    kind: 'url_password',
    keywords: ['://'],
    pattern:
      /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"'`<>$\\{}]{0,100}:(?<secret>[^\s/:@"'`<>$\\{}]{6,200})@[A-Za-z0-9[]/dg,
    entropy: 2.8,
    allow: [placeholder],
  },
  {
    kind: 'authorization_header',
    keywords: ['uthorization', 'UTHORIZATION'],
    pattern:
      /\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|digest)\s+)?(?<secret>[A-Za-z0-9._~+/=-]{16,})/dgi,
    entropy: 3,
    allow: [placeholder, member],
  },
  {
    kind: 'generic_secret',
    keywords: nameWords,
    pattern:
      /\b[\w.-]{0,30}(?:api[_-]?key|secret|token|passwd|password)["']?\s*(?:[:=]|=>|:=)\s*["'`](?<secret>[A-Za-z0-9+/=_.-]{20,200})["'`]/dgi,
    entropy: 4,
    allow: [placeholder, digest],
    random: true,
  },
  {
    kind: 'generic_secret',
    keywords: nameWords,
    // Without quotes, as in .env and YAML. No dots: those are members of objects in code.
    pattern:
      /\b[\w.-]{0,30}(?:api[_-]?key|secret|token|passwd|password)\w{0,20}[ \t]{0,20}[:=][ \t]{0,20}(?<secret>[A-Za-z0-9+/=_-]{20,200})(?=[\s"'`,;&<]|$)/dgi,
    entropy: 4,
    allow: [placeholder, digest],
    random: true,
  },
];

import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { hiddenCredentials, hiddenCredentialsText } from '#kit/credential-files.ts';
import { containsPath } from '#kit/tool-path.ts';
import type { Sandbox } from '../../services/agentd/ports/sandbox.ts';
import { useBench } from './sandbox.contract.ts';

/** Each kind of credentials file, in folders that people list in `tool_paths`. */
const secrets: Readonly<Record<string, string>> = {
  'credentials.toml': 'token = "swordfish"',
  credentials: 'swordfish',
  '.netrc': 'machine example.org password swordfish',
  '.npmrc': '//registry.example.org/:_authToken=swordfish',
  'etc/npmrc': '//registry.example.org/:_auth = swordfish',
  '.yarnrc.yml': 'npmAuthToken: swordfish',
  '.pypirc': 'password = swordfish',
  '.git-credentials': 'https://you:swordfish@example.org',
  'gh/hosts.yml': 'oauth_token: swordfish',
  '.docker/config.json': '{"auth": "swordfish"}',
  '.kube/config': 'token: swordfish',
  '.aws/credentials': 'aws_secret_access_key = swordfish',
  '.azure/msal_token_cache.json': '"swordfish"',
  '.config/gcloud/application_default_credentials.json': '"swordfish"',
  '.ssh/id_ed25519': 'swordfish',
  '.ssh/work': 'swordfish',
  '.gnupg/private-keys-v1.d/key': 'swordfish',
  'deep/er/.m2/settings.xml': '<password>swordfish</password>',
  '.claude/.credentials.json': '"swordfish"',
  '.gemini/oauth_creds.json': '"swordfish"',
  '.codex/auth.json': '"swordfish"',
  '.sbt/.credentials': 'password=swordfish',
  '.cargo/config.toml': '[registry]\ntoken = "swordfish"',
  '.cargo/credentials.toml.bak': 'token = "swordfish"',
  '.gradle/gradle.properties': 'password=swordfish',
  '.config/glab-cli/config.yml': 'token: swordfish',
  '.bundle/config': 'BUNDLE_GEMS__EXAMPLE__ORG: "swordfish"',
  'mvn/conf/settings.xml': '<password>swordfish</password>',
  '.nuget/NuGet/NuGet.Config': '<add key="ClearTextPassword" value="swordfish" />',
};

const npmToken = '//registry.example.org/:_authToken=swordfish';
/** Credentials where a search could miss them, each of them one that the sandbox hides and the report counts. */
const disguised: Readonly<Record<string, string>> = {
  // Deep, and below folders with the names of packages.
  'ci/users/bob/home/.cargo/credentials.toml': 'token = "swordfish"',
  'ci/users/bob/home/work/.netrc': 'password swordfish',
  'ci/users/bob/home/x/.ssh/id_rsa': 'swordfish',
  'registry/credentials.toml': 'token = "swordfish"',
  'mod/.netrc': 'password swordfish',
  'doc/.ssh/id_rsa': 'swordfish',
  'site-packages/.pypirc': 'password = swordfish',
  'dist-packages/.gnupg/key': 'swordfish',
  'node_modules/.npmrc': npmToken,
  'node_modules/tool/.npmrc': npmToken,
  '.git/config': '[remote "origin"]\n\turl = https://you:swordfish@example.org/x',
  'registry/src/index.crates.io-1949cf8c6b5b557f/tool-1.0.0/.netrc': 'password swordfish',
  // Spellings of settings.
  'quoted/.npmrc': '"//registry.example.org/:_authToken"="swordfish"',
  'escaped/.npmrc': '"//registry.example.org/:_auth\\u0054oken"="swordfish"',
  'comment/.npmrc': `; <!--\n${npmToken}\n; -->`,
  'comment/pip.conf': '# <!--\nindex-url = https://you:swordfish@example.org\n# -->',
  'token/pip.conf': 'index-url = https://swordfish@example.org/simple',
  'quoted/.yarnrc.yml': '"npmAuthToken": swordfish',
  '.cache/huggingface/token': 'swordfish',
  '.config/hub': 'oauth_token: swordfish',
  '.fly/config.yml': 'access_token: swordfish',
  '.kube/config.prod': 'token: swordfish',
  'aws/.env': 'AWS_SECRET_ACCESS_KEY=swordfish',
  'local/.env.local': 'API_KEY=swordfish',
  'inline/.cargo/config.toml': 'registries.x = { index = "#", token = "swordfish" }',
  'section/conf/settings.xml': '<![CDATA[ <!-- ]]><password>swordfish</password><![CDATA[ --> ]]>',
  'attribute/conf/settings.xml': '<password xml:space="preserve">swordfish</password>',
  // Other casing.
  'case/Credentials.toml': 'token = "swordfish"',
  'case/.Netrc': 'password swordfish',
  'gh/Hosts.yml': 'oauth_token: swordfish',
  'case/.NPMRC': npmToken,
  'case/.SSH/work': 'swordfish',
  // Copies.
  '.npmrc.bak': npmToken,
  ...Object.fromEntries(
    [
      ...['credentials.toml.1', '.credentials.toml.swp', 'credentials.toml.swp', 'credentials.toml.tmp'],
      ...['credentials.toml.dpkg-old', 'credentials.toml.2024-01-01', '#credentials.toml#', 'hosts.yml~'],
      ...[
        'credentials.toml (copy)',
        'credentials.toml.bak.1',
        'credentials.yaml',
        '.netrc.gpg',
        'id_rsa.pem',
      ],
      ...['id_ed25519_work', 'hosts.yaml', '.ssh.bak/work', '.gnupg2/key'],
    ].map((name) => [`copies/${name}`, 'swordfish']),
  ),
};

const harmless: Readonly<Record<string, string>> = {
  'bin/tool': '#!/bin/sh\necho the tool ran\n',
  'lib/.npmrc': 'ignore-scripts=true',
  'node_modules/sdk/lib/credentials/index.js': '"goldfish"',
  'site-packages/docker/credentials/__init__.py': '"goldfish"',
  'copies/id_rsa.pub': 'goldfish',
  'lib/credentials.py': '"goldfish"',
  'lib/credentials_new.py': '"goldfish"',
  'lib/settings.json': 'goldfish',
  'tool/conf/settings.xml': '<settings><!-- <password>goldfish</password> --></settings>',
  'tool/.cargo/config.toml': '[net]\n# token = "goldfish"\noffline = true # goldfish',
};

/** What a sandbox with folders of tools shows of the credentials in them: nothing. */
export function credentialsContract(create: (tools: readonly string[]) => Sandbox): void {
  let tools: readonly string[] = [];
  const bench = useBench(() => create(tools));

  it('hides credentials in the folders of tools, at each path that leads to them, and shows the rest', async () => {
    const folder = bench.folder("tools of mine's");
    for (const [path, text] of Object.entries({ ...secrets, ...harmless })) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text, { mode: 0o755 });
    }
    const other = bench.folder('other');
    symlinkSync(folder, join(other, 'linked'));
    symlinkSync(join(folder, 'lib/settings.json'), join(other, '.netrc'));
    writeFileSync(join(folder, 'hidden-by-link'), 'swordfish');
    symlinkSync("../tools of mine's/hidden-by-link", join(other, 'credentials.toml'));
    tools = [folder, join(folder, 'gh'), other];
    const { text, exit_code } = await bench.run(
      `tool && cat ${quoted(join(folder, 'lib/.npmrc'))} && ` +
        `{ grep -r fish ${tools.map(quoted).join(' ')}; find ${tools.map(quoted).join(' ')} -name 'id_*' -o -name work; true; }`,
    );
    expect(text).to.not.contain('swordfish');
    expect(text).to.match(/^the tool ran\nignore-scripts=true/);
    expect(text).to.not.match(/id_ed25519|\/work$/m);
    expect(exit_code).to.equal(0);
    const report = await hiddenCredentialsText(tools);
    expect(report)
      .to.contain(`${folder}/`)
      .and.to.match(/and \d+ more\. Sandboxes hide them/);
  });

  it('hides them where the folder that names them is itself listed, under its own name or by a link, with a note', async () => {
    const home = bench.folder('home');
    for (const [path, text] of Object.entries(secrets)) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), text);
    }
    const parents = Object.keys(secrets).map((path) => join(home, dirname(path)));
    const folders = [...new Set(parents)].filter((folder) => folder !== home);
    mkdirSync(join(home, 'data'));
    writeFileSync(join(home, 'data/settings.xml'), '<password>swordfish</password>');
    mkdirSync(join(home, 'links'));
    symlinkSync(join(home, 'data'), join(home, 'links/.m2'));
    for (const folder of [...folders, join(home, 'links/.m2')]) {
      expect(await hiddenCredentialsText([folder]), folder).to.match(
        /^tool_paths show credentials: .*\. Sandboxes hide/,
      );
    }
    tools = [...folders, join(home, 'links/.m2')];
    const { text, exit_code } = await bench.run(
      `grep -r fish ${tools.map(quoted).join(' ')}; ls ${quoted(home)}`,
    );
    expect(text).to.not.contain('fish"').and.to.not.contain('swordfish');
    expect(exit_code).to.equal(0);
  });

  it('hides them at any depth, below any folder, in any spelling and as copies, and reports each', async () => {
    const folder = bench.folder('tools');
    const files = { ...disguised, 'big/.npmrc': `#${'x'.repeat(17 * 1024 * 1024)}\n${npmToken}` };
    for (const [path, text] of Object.entries({ ...files, ...harmless })) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text, { mode: 0o755 });
    }
    // The name of a link counts for what lies in the folder that it leads to.
    mkdirSync(join(folder, 'data'));
    writeFileSync(join(folder, 'data/config.json'), 'swordfish');
    symlinkSync('data', join(folder, '.docker'));
    // Leads into a folder that is hidden as a whole.
    symlinkSync('ci/users/bob/home/x/.ssh/id_rsa', join(folder, '_netrc'));
    symlinkSync('../doc/.ssh/id_rsa', join(folder, 'mod/_netrc'));
    tools = [folder];
    const { text } = await bench.run(`cd ${quoted(folder)} && grep -rsl fish . | sort`);
    const shown = text.trim().split('\n');
    expect(shown).to.have.members(
      Object.entries(harmless)
        .filter(([, content]) => content.includes('fish'))
        .map(([path]) => `./${path}`),
    );
    const hidden = (await hiddenCredentials(tools)).map(({ path }) => path);
    for (const path of [...Object.keys(files), 'data/config.json']) {
      const reported = hidden.some((one) => containsPath(one, join(folder, path)));
      expect(reported, path).to.equal(true);
    }
    expect(await hiddenCredentialsText(tools)).to.contain(`and ${hidden.length - 5} more`);
  });

  it('hides those in settings of the machine that every sandbox shows', async function () {
    const settings = '/usr/local/etc';
    if (!isWritable(settings)) return this.skip();
    const folder = mkdtempSync(join(settings, 'core-test-'));
    try {
      writeFileSync(join(folder, 'npmrc'), '//registry.example.org/:_authToken=swordfish');
      writeFileSync(join(folder, 'other'), 'goldfish');
      tools = [];
      const { text } = await bench.run(`grep -r fish ${folder}`);
      expect(text).to.contain('goldfish').and.to.not.contain('swordfish');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('cannot be talked into uncovering them', async () => {
    const folder = bench.folder('tools');
    mkdirSync(join(folder, 'bin'));
    writeFileSync(join(folder, 'credentials.toml'), 'swordfish');
    tools = [folder];
    const path = join(folder, 'credentials.toml');
    const { text } = await bench.run(
      `umount ${path}; mount -o remount,rw ${path}; rm -f ${path}; mv ${path} ${path}.old; cat ${path} ${path}.old /proc/self/root${path}; ` +
        `unshare -rm sh -c 'umount ${path}; cat ${path}'; true`,
    );
    expect(text).to.not.contain('swordfish');
  });
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function quoted(path: string): string {
  return `'${path.replaceAll("'", `'\\''`)}'`;
}

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { hiddenCredentialsText } from '#kit/credential-files.ts';
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
};

const harmless: Readonly<Record<string, string>> = {
  'bin/tool': '#!/bin/sh\necho the tool ran\n',
  'lib/.npmrc': 'ignore-scripts=true',
  'lib/settings.json': 'goldfish',
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
    const report = hiddenCredentialsText(tools)!;
    expect(report)
      .to.contain(`${folder}/`)
      .and.to.match(/and \d+ more\. Sandboxes hide them/);
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

function quoted(path: string): string {
  return `'${path.replaceAll("'", `'\\''`)}'`;
}

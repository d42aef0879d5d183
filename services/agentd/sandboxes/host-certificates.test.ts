import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { makeSelfSigned } from '../../../test/fixtures/self-signed.ts';
import { has, itWith } from '../../../test/needs.ts';
import { hostCertificates } from './host-certificates.ts';
import { sandboxes } from './registry.ts';
import { toolPaths } from './tool-paths.ts';

const limits = { seconds: 60, memory_mib: 1024, processes: 64, disk_mib: 256, output_bytes: 100_000 };
/** Put together at run time, so that no file of the project holds anything that looks like a key. */
const keyLine = ['-----BEGIN', 'PRIVATE KEY-----'].join(' ');

describe('Certificates that the programs of this account trust', () => {
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'core-certificates-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const none = { XDG_CONFIG_HOME: undefined } as Parameters<typeof hostCertificates>[0];
  const certificates = (more: object) => hostCertificates({ ...none, HOME: root, ...more });

  function file(path: string, text: string): string {
    const full = join(root, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
    return full;
  }
  const pem = (path: string) => file(path, '-----BEGIN CERTIFICATE-----\n');

  it('are those that variables name', () => {
    const path = pem('proxy.pem');
    const all = certificates({ NODE_EXTRA_CA_CERTS: path, SSL_CERT_FILE: path, PIP_CERT: path });
    expect(all).to.include({ NODE_EXTRA_CA_CERTS: path, SSL_CERT_FILE: path, PIP_CERT: path });
  });

  it('are those that npm, pip and cargo are configured with, where no variable says otherwise', () => {
    const path = pem('proxy.pem');
    const other = pem('other.pem');
    file('.npmrc', `//registry/:_authToken=x\ncafile = ${path}\n`);
    file('.config/pip/pip.conf', `[install]\ncert = /no\n[global]\ncert = ~/proxy.pem\n`);
    file('.cargo/config.toml', `[build]\njobs = 1\n[http]\ncainfo = "${path}"\n`);
    expect(certificates({})).to.include({ npm_config_cafile: path, PIP_CERT: path, CARGO_HTTP_CAINFO: path });
    expect(certificates({ npm_config_cafile: other })).to.include({ npm_config_cafile: other });
  });

  it('are none that hold a private key, are missing or hold no certificate', () => {
    const both = file('both.pem', `-----BEGIN CERTIFICATE-----\n${keyLine}\n`);
    const text = file('text.pem', 'hello');
    const all = certificates({
      NODE_EXTRA_CA_CERTS: both,
      SSL_CERT_FILE: text,
      PIP_CERT: join(root, 'gone.pem'),
      REQUESTS_CA_BUNDLE: root,
    });
    expect(Object.values(all)).to.not.include.members([both]);
    expect(all).to.not.have.any.keys('NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE');
  });

  const needs = { bubblewrap: ['bubblewrap'], 'unshare (weak)': ['unshare'], none: [] } as const;
  for (const kind of ['bubblewrap', 'unshare (weak)', 'none'] as const) {
    itWith(
      needs[kind],
      `are seen by commands with network alone, and cannot be written (${kind})`,
      async () => {
        const path = pem('home/proxy.pem');
        const sandbox = sandboxes[kind]({
          tools: toolPaths([], []),
          networkEnvironment: {},
          certificates: { NODE_EXTRA_CA_CERTS: path },
        });
        const workspace = join(root, 'workspace');
        mkdirSync(workspace);
        const run = async (network: boolean, command: string) => {
          const { output } = await sandbox.run({ workspace, mounts: [], command, network, limits });
          return Buffer.from(output).toString('utf8').trim();
        };
        expect(await run(true, 'cat "$NODE_EXTRA_CA_CERTS"')).to.equal('-----BEGIN CERTIFICATE-----');
        expect(await run(false, 'echo "<$NODE_EXTRA_CA_CERTS>"')).to.equal('<>');
        if (kind === 'none') return;
        expect(await run(true, 'echo x >"$NODE_EXTRA_CA_CERTS" || echo held')).to.match(/held$/);
        expect(await run(true, `ls ${dirname(path)} || echo hidden`)).to.match(/hidden$/);
      },
    );
  }

  itWith(['openssl'], 'let npm fetch from a registry whose certificate only they vouch for', async () => {
    const kind = has('bubblewrap') ? 'bubblewrap' : 'none';
    const { key_file, certificate_file } = makeSelfSigned(root);
    const registry = file(
      'registry.mjs',
      `import { createServer } from 'node:https';
import { readFileSync } from 'node:fs';
const [key, cert] = process.argv.slice(2).map((path) => readFileSync(path));
const server = createServer({ key, cert }, (_, response) => response.end('{"name":"a","versions":{},"dist-tags":{}}'));
server.listen(0, '127.0.0.1', () => console.log(server.address().port));`,
    );
    const child = spawn(process.execPath, [registry, key_file, certificate_file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [port] = await once(child.stdout, 'data');
      const workspace = join(root, 'workspace');
      mkdirSync(workspace);
      const view = async (certificates: Record<string, string>) => {
        const sandbox = sandboxes[kind]({ tools: toolPaths([], []), networkEnvironment: {}, certificates });
        const command = `npm view a name --registry https://127.0.0.1:${String(port).trim()} --fetch-retries 0`;
        const { output } = await sandbox.run({ workspace, mounts: [], command, network: true, limits });
        return Buffer.from(output).toString('utf8');
      };
      expect(await view({})).to.match(/SELF_SIGNED|self.signed|unable to verify/i);
      expect(await view({ NODE_EXTRA_CA_CERTS: certificate_file })).to.not.match(
        /self.signed|unable to verify/i,
      );
      expect(await view({ npm_config_cafile: certificate_file })).to.not.match(
        /self.signed|unable to verify/i,
      );
    } finally {
      child.kill();
    }
  });
});

import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { Environment } from '#kit/environment.ts';
import { findProgram } from '#kit/find-program.ts';
import { readSmallFile } from '#kit/small-file.ts';

type HostVariables = Pick<Environment, 'HOME' | 'XDG_CONFIG_HOME' | CertificateVariable>;

/** Variables by which programs find certificates of authorities beside the system's. */
export const certificateVariables = [
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'npm_config_cafile',
  'PIP_CERT',
  'CARGO_HTTP_CAINFO',
] as const;
export type CertificateVariable = (typeof certificateVariables)[number];

/**
 * Files with certificates that this account's programs trust beside the system's, by the variable that names them: behind a proxy
 * that opens TLS nothing can be fetched without. Variables come first, then the settings of npm, pip and cargo. Left out is what is
 * no file of certificates, and what holds a private key.
 */
export function hostCertificates(variables: HostVariables): Record<string, string> {
  const { HOME: home = '/nonexistent', XDG_CONFIG_HOME: config } = variables;
  const npm = findProgram('npm');
  const configured: { readonly [N in CertificateVariable]?: string | null | undefined } = {
    npm_config_cafile:
      setting(join(home, '.npmrc'), null, 'cafile', home) ??
      (npm === null ? null : setting(join(dirname(npm), '../etc/npmrc'), null, 'cafile', home)),
    PIP_CERT: [
      join(config || join(home, '.config'), 'pip/pip.conf'),
      join(home, '.pip/pip.conf'),
      '/etc/pip.conf',
    ]
      .map((path) => setting(path, 'global', 'cert', home))
      .find((path) => path !== null),
    CARGO_HTTP_CAINFO: ['config.toml', 'config']
      .map((name) => setting(join(home, '.cargo', name), 'http', 'cainfo', home))
      .find((path) => path !== null),
  };
  const found = certificateVariables.flatMap((name) => {
    const path = variables[name] || configured[name];
    return path != null && isAbsolute(path) && holdsCertificates(path) ? [[name, path] as const] : [];
  });
  return Object.fromEntries(found);
}

/** Where a sandbox shows the file of a variable. */
export function shownCertificate(variable: string): string {
  return `/etc/core-certificates/${variable}.pem`;
}

/** A value of a file of `name = value` lines, after a section where there is one; null where it is not set. */
function setting(path: string, section: string | null, name: string, home: string): string | null {
  let text: string;
  try {
    text = readSmallFile(path);
  } catch {
    return null;
  }
  let here: string | null = null;
  for (const line of text.split('\n')) {
    const header = /^\s*\[([^\]]+)\]/.exec(line);
    if (header !== null) here = header[1]!.trim();
    const found = /^\s*([\w.-]+)\s*=\s*(.*?)\s*$/.exec(line);
    if (found === null || here !== section || found[1] !== name) continue;
    const value = found[2]!.replace(/^(["'])(.*)\1$/, '$2').replace(/^(~|\$HOME|\$\{HOME\})(?=\/)/, home);
    return value === '' ? null : resolve(dirname(path), value);
  }
  return null;
}

const maxBytes = 8 * 1024 * 1024;

function holdsCertificates(path: string): boolean {
  try {
    const text = readSmallFile(path, { encoding: 'latin1' });
    return text.length <= maxBytes && text.includes('BEGIN CERTIFICATE') && !text.includes('PRIVATE KEY');
  } catch {
    return false;
  }
}

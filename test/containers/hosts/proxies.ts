import { chmodSync, copyFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { dockerDone } from '../../fixtures/containers/docker.ts';
import { images } from '../../fixtures/containers/images.ts';
import { temporaryFolder } from '../../fixtures/repositories/temporary-folder.ts';
import { makeSelfSigned } from '../../fixtures/self-signed.ts';

/** What the guide has for a host's proxy, for the one in front, and for core-context there. */
export function nginxOf(page: string): { host: string; front: string } {
  const [host, ...front] = [...page.matchAll(/```nginx\n([\s\S]*?)```/g)].map(([, text]) => text!);
  if (host === undefined || front.length !== 2) throw new Error('the guide has no three blocks of nginx');
  return { host, front: front.join('') };
}

/** The folder that the guide calls /etc/nginx/tls; the certificate is its own authority. */
export function makeTls(names: readonly string[]): string {
  const folder = temporaryFolder();
  const { key_file, certificate_file } = makeSelfSigned(folder, names);
  copyFileSync(key_file, join(folder, 'core.key'));
  for (const file of ['core.pem', 'ca.pem']) copyFileSync(certificate_file, join(folder, file));
  chmodSync(folder, 0o755);
  return folder;
}

/** An address of this machine that containers of every project reach: the gateway of a network of its own. */
export async function addressOf(project: string, name: string, subnet: string): Promise<string> {
  const gateway = subnet.replace(/\d+\/28$/, (end) => String(Number.parseInt(end, 10) + 1));
  const label = `com.docker.compose.project=${project}`;
  const own = ['--label', label, '--subnet', subnet, '--gateway', gateway];
  await dockerDone(['network', 'create', ...own, `${project}-${name}`]);
  return gateway;
}

/** nginx at an address of this machine, configured as the guide says. */
export async function startProxy(project: string, config: string, tls: string, hosts: readonly string[]) {
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, 'core.conf'), config, { mode: 0o644 });
  await dockerDone([
    ...['run', '--detach', '--network', 'host', '--name', `${project}-proxy`],
    ...['--label', `com.docker.compose.project=${project}`],
    ...['--volume', `${folder}:/etc/nginx/conf.d:ro`, '--volume', `${tls}:/etc/nginx/tls:ro`],
    ...hosts.flatMap((host) => ['--add-host', host]),
    images.nginx,
  ]);
}

/** Asks a service at an address of the guide. @param ca what is trusted */
export function askOverTls(
  url: URL,
  host: string,
  ca: string,
  token: string,
  body?: unknown,
): Promise<{ status: number; json: unknown }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host,
        port: url.port || 443,
        path: url.pathname + url.search,
        method: body === undefined ? 'GET' : 'POST',
        servername: url.hostname,
        ca,
        headers: {
          host: url.host,
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
      },
      (answer) => {
        let text = '';
        answer.on('data', (chunk) => {
          text += chunk;
        });
        answer.on('end', () => {
          const isJson = /json/.test(answer.headers['content-type'] ?? '');
          resolve({ status: answer.statusCode ?? 0, json: isJson ? JSON.parse(text) : text });
        });
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

import {
  appendFileSync,
  chownSync,
  copyFileSync,
  cpSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { PostgresSettings, S3Settings } from '#kit/config/storage.ts';
import { readContainerUser } from '../../../services/supervisor/secrets/owner.ts';
import { atExit } from '../../fixtures/at-exit.ts';
import { dockerDone } from '../../fixtures/containers/docker.ts';
import { type S3Server, startS3 } from '../../fixtures/s3.ts';
import { freePort } from '../../support/free-port.ts';
import { cleanClone } from '../stack/clean-clone.ts';
import { networkNames } from '../stack/container-stack.ts';
import { removeContainers, removeEverything } from '../stack/leftovers.ts';
import { buildGuardImage, buildJjImage } from '../stack/local-images.ts';
import { chooseSubnets } from '../stack/subnets.ts';
import { Host } from './host.ts';
import { addressOf, askOverTls, makeTls, nginxOf, startProxy } from './proxies.ts';

const base = ['compose.yaml', 'compose.multi-host.yaml'];
const embeddedBus = ['compose.embedded-bus.yaml', 'compose.multi-host-embedded-bus.yaml'];
const context = 'compose.multi-host-context.yaml';
/** As the guide places them, with our own engine and a standby of core-context. */
const places = {
  one: {
    files: [...base, context],
    services: [
      ...['core-agentd', 'core-model-gateway', 'core-bridge', 'core-bus-worker'],
      ...['core-context', 'guard', 'publisher'],
    ],
  },
  two: { files: base, services: ['core-agentd', 'core-model-gateway'] },
  three: {
    files: [...base, ...embeddedBus, context],
    services: ['core-bus-engine', 'guard', 'publisher', 'core-bridge', 'core-bus-worker', 'core-context'],
  },
} as const;
export type HostName = keyof typeof places;
const hostNames = Object.keys(places) as HostName[];
const ports = {
  AGENTD: 7817,
  CONTEXT: 8090,
  MODELS: 8092,
  BRIDGE: 8093,
  BUS: 49134,
  BUS_HTTP: 3111,
} as const;
const inFront = ['core', 'models', 'bridge', 'context'];

export interface ThreeHostsOptions {
  readonly database: PostgresSettings;
  readonly forgePort: number;
  readonly forgeToken: string;
  /** The forge's repository, which every host reaches at this path. */
  readonly bare: string;
  /** A working copy of it, on the host that executes. */
  readonly workingCopy: { readonly host: HostName; readonly folder: string };
}

/** The three hosts of site/guide-three-hosts.md, each a compose project, with the proxies that the guide gives them. */
export interface ThreeHosts {
  readonly hosts: Readonly<Record<HostName, Host>>;
  readonly s3: S3Server;
  /** Ends everything on a host at once, its proxy too. */
  kill(name: HostName): Promise<void>;
  /** Asks a service at an address of the guide, with a person's token. */
  ask(url: string, body?: unknown): Promise<{ status: number; json: unknown }>;
  /** Takes them away; also when the process ends. */
  remove(): void;
}

export async function startThreeHosts(options: ThreeHostsOptions): Promise<ThreeHosts> {
  const version = `test-hosts-${process.pid}`;
  const projects = Object.fromEntries(hostNames.map((name) => [name, `core-${version}-${name}`]));
  const remove = () => {
    removed();
    const all = [...Object.values(projects), `core-${version}`];
    // What has an image stands in its way, whosever it is.
    for (const project of all) removeContainers(project);
    for (const project of all) removeEverything(project, version);
  };
  const removed = atExit(remove);

  const folder = await cleanClone();
  const guide = nginxOf(readFileSync(join(folder, 'site/guide-three-hosts.md'), 'utf8'));
  const jj = await buildJjImage(version);
  await buildGuardImage(version);
  const environment = { CORE_VERSION: version, CORE_JJ_IMAGE: jj };
  const compose = (args: readonly string[]) =>
    dockerDone(['compose', '--project-name', `core-${version}`, ...args], {
      cwd: folder,
      env: environment,
      within: 1_200_000,
    });
  writeFileSync(join(folder, 'networks.json'), JSON.stringify({ networks: await smallNetworks() }));
  await compose(['--file', 'compose.yaml', '--file', 'networks.json', 'run', '--rm', '-T', 'secrets']);
  const embedded = [...base, ...embeddedBus].flatMap((file) => ['--file', file]);
  const built = [...new Set(hostNames.flatMap((name) => places[name].services as readonly string[]))];
  await compose([
    ...embedded,
    'build',
    '--quiet',
    ...built.filter((name) => name.startsWith('core-')),
    'tools',
  ]);

  const addresses: Record<string, string> = {};
  const withAddress = [...hostNames, 'front'];
  const subnets = await chooseSubnets(withAddress);
  for (const name of withAddress) addresses[name] = await addressOf(`core-${version}`, name, subnets[name]!);
  const names = [...hostNames, ...inFront, 's3'].map((name) => `${name}.example.org`);
  const tls = makeTls(names);
  const certificate = { key_file: join(tls, 'core.key'), certificate_file: join(tls, 'core.pem') };
  const s3 = await startS3(certificate, { host: addresses.front!, enter: [] });
  configure(folder, options, { tls, s3: s3.settings });
  const owner = readContainerUser(folder)!;
  const extra_hosts = [
    ...hostNames.map((name) => `${name}.example.org:${addresses[name]}`),
    ...[...inFront, 'forge', 'db', 's3'].map((name) => `${name}.example.org:${addresses.front}`),
  ];
  const hosts = {} as Record<HostName, Host>;
  for (const name of hostNames) hosts[name] = await makeHost(name);
  for (const name of hostNames)
    await startProxy(projects[name]!, hosts[name].proxy(guide.host), tls, extra_hosts);
  const front = guide.front.replaceAll('10.0.0.9:', `${addresses.front}:`);
  await startProxy(`core-${version}`, front, tls, extra_hosts);
  await hosts.three.up();
  await Promise.all([hosts.one.up(), hosts.two.up()]);

  const token = personsToken(folder);
  const ca = readFileSync(join(tls, 'ca.pem'), 'utf8');
  return {
    hosts,
    s3,
    async kill(name) {
      await dockerDone(['rm', '--force', `${projects[name]}-proxy`]);
      await hosts[name].kill();
    },
    ask: (url, body) => askOverTls(new URL(url), addressAt(url), ca, token, body),
    remove,
  };

  async function makeHost(name: HostName): Promise<Host> {
    const own = join(dirname(folder), name);
    cpSync(folder, own, { recursive: true, preserveTimestamps: true });
    chownAll(join(own, 'secrets'), owner);
    const published = new Map<number, number>();
    const env: Record<string, string> = { ...environment };
    for (const [service, port] of Object.entries(ports)) {
      published.set(port, await freePort());
      env[`CORE_PUBLISH_${service}`] = String(published.get(port));
    }
    for (const service of ['NEO4J', 'SITE']) env[`CORE_PUBLISH_${service}`] = '';
    appendFileSync(join(own, '.env'), addressesIn(name));
    const { workingCopy } = options;
    if (workingCopy.host === name) env.CORE_REPOSITORY = workingCopy.folder;
    const reach = { extra_hosts };
    const forge = { extra_hosts, volumes: [`${options.bare}:${options.bare}`] };
    const services = {
      'core-agentd': forge,
      tools: forge,
      ...Object.fromEntries(
        ['core-model-gateway', 'core-bridge', 'core-bus-worker', 'core-context', 'core-bus-engine'].map(
          (service) => [service, reach],
        ),
      ),
      guard: { image: `core-test-guard:${version}` },
      publisher: { image: `core-test-guard:${version}` },
    };
    writeFileSync(join(own, 'hosts.json'), JSON.stringify({ services, networks: await smallNetworks() }));
    return new Host({
      project: projects[name]!,
      folder: own,
      files: [...places[name].files, 'hosts.json'],
      services: places[name].services,
      address: addresses[name]!,
      published,
      environment: env,
    });
  }

  function addressAt(url: string): string {
    const [name] = new URL(url).hostname.split('.');
    return addresses[name!] ?? addresses.front!;
  }
}

/** `networks` of a compose file that gives each a small subnet. */
async function smallNetworks(): Promise<Record<string, unknown>> {
  const subnets = await chooseSubnets(networkNames);
  const networks = networkNames.map((name) => [name, { ipam: { config: [{ subnet: subnets[name] }] } }]);
  return Object.fromEntries(networks);
}

/** Lines of `.env`, as in the guide. */
function addressesIn(name: HostName): string {
  const lines = {
    CORE_CONFIG: './my-config',
    CORE_AGENTD_URL: 'https://core.example.org',
    CORE_MODELS_URL: 'https://models.example.org',
    CORE_BRIDGE_URL: 'https://bridge.example.org',
    CORE_CONTEXT_URL: 'https://context.example.org',
    ...(name === 'two' ? {} : { CORE_NEO4J_URL: 'none' }),
    ...(name === 'three' ? {} : { CORE_BUS_URL: 'wss://three.example.org:49134' }),
    CORE_CA_FILE: '/config/ca.pem',
  };
  return Object.entries(lines)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

/** `my-config` and the secrets of the guide, for all hosts. */
function configure(
  folder: string,
  { database, forgePort, forgeToken }: ThreeHostsOptions,
  { tls, s3 }: { readonly tls: string; readonly s3: S3Settings },
) {
  const config = join(folder, 'my-config');
  cpSync(join(folder, 'config/compose'), config, { recursive: true });
  const change = (file: string, edit: (document: Record<string, unknown>) => object) => {
    const path = join(config, file);
    writeFileSync(path, JSON.stringify(edit(JSON.parse(readFileSync(path, 'utf8')))));
  };
  const named =
    (...more: readonly string[]) =>
    (document: Record<string, unknown>) => ({
      ...document,
      allowed_hosts: [...(document.allowed_hosts as string[]), ...more.map((name) => `${name}.example.org`)],
    });
  const url = new URL(database.url);
  url.hostname = 'db.example.org';
  url.search = '?sslmode=disable';
  const bucket = {
    endpoint: `https://s3.example.org:${new URL(s3.endpoint).port}`,
    bucket: s3.bucket,
    access_key_id_file: '/run/database/s3-key-id',
    secret_access_key_file: '/run/database/s3-secret',
    ca_file: '/config/ca.pem',
  };
  const storage = { kind: 'postgres', url: url.href, password_file: '/run/database/password', s3: bucket };
  change('core.json', ({ agentd }) => ({
    agentd: named('core', 'one', 'two')(agentd as Record<string, unknown>),
    storage,
  }));
  change('models.json', named('models', 'one', 'two'));
  change('bridge.json', named('bridge', 'one', 'three'));
  // So that what was recorded is soon in the bucket alone, and no more in the journal.
  const backup = { seconds: 1, keep: 1 };
  change('context.json', (document) => ({ ...named('context', 'one', 'three')(document), backup }));
  change('bus.json', (document) => ({ ...document, url_wants_token: true }));
  const forge = {
    name: 'git',
    kind: 'gitea',
    base_url: `http://forge.example.org:${forgePort}`,
    clone_base_url: 'file:///',
    token_file: 'forge-token',
  };
  writeFileSync(join(config, 'forges.json'), JSON.stringify({ forges: [forge] }));
  const secrets = join(folder, 'secrets');
  copyFileSync(database.password_file!, join(secrets, 'database/password'));
  copyFileSync(s3.access_key_id_file, join(secrets, 'database/s3-key-id'));
  copyFileSync(s3.secret_access_key_file, join(secrets, 'database/s3-secret'));
  copyFileSync(join(tls, 'ca.pem'), join(config, 'ca.pem'));
  writeFileSync(join(secrets, 'forges/forge-token'), `${forgeToken}\n`, { mode: 0o600 });
}

export function chownAll(folder: string, { uid, gid }: { readonly uid: number; readonly gid: number }): void {
  for (const path of ['', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })])
    chownSync(join(folder, path), uid, gid);
}

function personsToken(folder: string): string {
  const { tokens } = JSON.parse(readFileSync(join(folder, 'secrets/registry/registry.json'), 'utf8'));
  const { name } = tokens.find(({ kind }: { kind: string }) => kind === 'person');
  return readFileSync(join(folder, `secrets/tokens/${name}.token`), 'utf8').trim();
}

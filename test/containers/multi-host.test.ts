import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { docker } from '../fixtures/containers/docker.ts';
import { describeWith } from '../needs.ts';
import { networkNames } from './stack/container-stack.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly networks?: Readonly<Record<string, unknown>>;
  readonly volumes?: readonly { readonly source: string; readonly target: string }[];
}

/** Hosts with the file that they take beside compose.multi-host.yaml, and what that asks of them. */
const hosts = {
  agentd: { more: [], needed: {} },
  bus: {
    more: ['compose.multi-host-bus.yaml'],
    needed: { REDIS_URL: 'rediss://r.example', AMQP_URL: 'amqps://a.example' },
  },
  engine: {
    more: ['compose.embedded-bus.yaml', 'compose.multi-host-embedded-bus.yaml'],
    needed: {},
  },
  context: {
    more: ['compose.multi-host-context.yaml'],
    needed: { CORE_NEO4J_URL: 'neo4j+s://g.example' },
  },
} as const satisfies Record<string, { more: readonly string[]; needed: Readonly<Record<string, string>> }>;

describeWith(['docker'], 'The stack on several hosts', () => {
  for (const [name, { more, needed }] of Object.entries(hosts)) {
    it(`asks the host of the ${name} for its own variables and no others`, async () => {
      const whole = await configured(more, needed);
      expect(whole.exitCode, whole.stderr).to.equal(0);
      for (const missing of Object.keys(needed)) {
        const { exitCode, stderr } = await configured(more, { ...needed, [missing]: '' });
        expect(exitCode).to.not.equal(0);
        expect(stderr).to.contain(`required variable ${missing}`);
      }
    });
  }

  it('gives every client, tools too, the addresses of services on other hosts', async () => {
    const addresses = {
      CORE_AGENTD_URL: 'https://a.example',
      CORE_CONTEXT_URL: 'https://c.example',
      CORE_MODELS_URL: 'https://m.example',
      CORE_BRIDGE_URL: 'https://b.example',
      CORE_BUS_URL: 'wss://e.example',
    };
    const services = servicesIn(await configured([], addresses));
    for (const name of ['core-agentd', 'core-bridge', 'core-bus-worker', 'tools'])
      expect(services[name]!.environment, name).to.include(addresses);
  });

  it('lets out whatever has a service, a store or a forge on another host, and what publishes ports', async () => {
    const more = Object.values(hosts).flatMap(({ more }) => more);
    const needed = Object.assign({}, ...Object.values(hosts).map(({ needed }) => needed));
    const services = servicesIn(await configured(more, needed));
    const out = Object.keys(services).filter((name) => 'outside' in (services[name]!.networks ?? {}));
    expect(out.sort()).to.deep.equal([
      'context-mirrors',
      'core-agentd',
      'core-bridge',
      'core-bus-engine',
      'core-bus-worker',
      'core-context',
      'core-model-gateway',
      'publisher',
      'tools',
    ]);
  });

  it('takes at most 4 of the 31 networks that Docker has addresses for', async () => {
    for (const { more, needed } of Object.values(hosts)) {
      const { networks } = JSON.parse((await configured(more, needed)).stdout);
      expect(Object.keys(networks).sort()).to.deep.equal([...networkNames].sort());
    }
    expect(networkNames.length).to.be.at.most(4);
  });

  it('gives the folder of the database to who asks it, and neither to iii nor to the worker', async () => {
    const withFolder = async (name: 'bus' | 'engine') => {
      const services = servicesIn(await configured(hosts[name].more, hosts[name].needed));
      const has = ({ volumes = [] }: Service) => volumes.some(({ target }) => target === '/run/database');
      return Object.keys(services)
        .filter((service) => has(services[service]!))
        .sort();
    };
    const clients = ['core-agentd', 'core-bridge', 'core-context', 'core-model-gateway'];
    expect(await withFolder('bus')).to.deep.equal([...clients, 'tools'].sort());
    expect(await withFolder('engine')).to.deep.equal([...clients, 'core-bus-engine', 'tools'].sort());
  });

  it('has clones of its own for a core-context without core-agentd beside it, and what fills them', async () => {
    const { more, needed } = hosts.context;
    const services = servicesIn(await configured(more, needed));
    const volumeOf = (name: string) =>
      services[name]!.volumes?.find(({ target }) => target === '/state/mirrors')?.source;
    expect(volumeOf('core-context')).to.equal('mirrors');
    expect(volumeOf('context-mirrors')).to.equal('mirrors');
    expect(services['context-mirrors']!.environment ?? {}).to.deep.equal({});
  });
});

function configured(more: readonly string[], env: Readonly<Record<string, string>>) {
  const files = ['compose.yaml', 'compose.multi-host.yaml', ...more].flatMap((file) => ['--file', file]);
  // Of the machine's own .env nothing is wanted.
  const args = [
    'compose',
    '--env-file',
    '/dev/null',
    ...files,
    '--profile',
    '*',
    'config',
    '--format',
    'json',
  ];
  return docker(args, { cwd: root, env });
}

function servicesIn({ stdout, stderr }: { stdout: string; stderr: string }): Record<string, Service> {
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout).services;
}

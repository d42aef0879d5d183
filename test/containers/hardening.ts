import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect } from 'chai';
import { docker, dockerDone } from '../fixtures/containers/docker.ts';
import { images } from '../fixtures/containers/images.ts';
import { type ContainerStack, type Inspected, imageName, serviceOf } from './stack/container-stack.ts';

interface Network {
  readonly Name: string;
  readonly Internal: boolean;
}

/** What no container may be able to do. */
export function hardeningTests(stack: ContainerStack): void {
  it('runs no container as root, privileged, with capabilities, with a writable root or without limits', async function () {
    this.timeout(900_000);
    const containers = await stack.inspected();
    expect(containers.map(serviceOf)).to.include.members([...stack.running]);
    for (const container of containers) {
      const { HostConfig, Config } = container;
      const name = serviceOf(container);
      const user = Config.Image === images.iii ? '65532:65532' : `${stack.owner.uid}:${stack.owner.gid}`;
      expect(Config.User, name).to.equal(user);
      expect(Config.User, name).to.not.match(/^(0|root)?(:|$)/);
      expect(HostConfig.ReadonlyRootfs, name).to.equal(true);
      expect(HostConfig.Privileged, name).to.equal(false);
      expect(HostConfig.CapDrop, name).to.deep.equal(['ALL']);
      expect(HostConfig.CapAdd ?? [], name).to.deep.equal([]);
      expect(HostConfig.SecurityOpt.join(' '), name).to.contain('no-new-privileges');
      if (name === 'keeper') continue;
      expect(HostConfig.Memory, name).to.be.above(0);
      expect(HostConfig.PidsLimit, name).to.be.above(0);
    }
  });

  it('finds that so from inside: the user, the root, the capabilities', async function () {
    this.timeout(900_000);
    const look = `const fs = require('node:fs');
      let root = 'writable';
      try { fs.writeFileSync('/core/written', ''); } catch (error) { root = error.code; }
      const status = fs.readFileSync('/proc/1/status', 'utf8');
      const line = (name) => new RegExp('^' + name + ':\\\\s+(\\\\S+)', 'm').exec(status)[1];
      console.log(JSON.stringify({ uid: process.getuid(), root, first: line('Uid'), bounds: line('CapBnd'), gains: line('NoNewPrivs') }));`;
    const { uid } = stack.owner;
    const expected = { uid, root: 'EROFS', first: String(uid), bounds: '0000000000000000', gains: '1' };
    for (const name of stack.services) {
      const said = await stack.exec(name, 'node', '-e', look);
      expect(JSON.parse(said), name).to.deep.equal(expected);
    }
    const lookInSite = 'open(my $file, ">", "/usr/share/nginx/html/written") or print "$>: $!";';
    const said = await stack.exec('site', 'perl', '-e', lookInSite);
    expect(said).to.equal(`${uid}: Read-only file system`);
  });

  it('publishes on loopback alone, where each service answers, and keeps the engine from who has no business there', async function () {
    this.timeout(900_000);
    const containers = await stack.inspected();
    const ports = containers.flatMap(portsOf);
    expect(ports).to.have.length(8);
    for (const { name, host } of ports) expect(host, name).to.equal('127.0.0.1');
    const [outside] = Object.values(networkInterfaces())
      .flat()
      .filter((address) => address?.family === 'IPv4' && !address.internal);
    for (const { name, port } of ports) {
      expect(await reaches('127.0.0.1', port), name).to.equal(true);
      if (outside !== undefined) expect(await reaches(outside.address, port), name).to.equal(false);
    }
    for (const [service, port] of [
      ['core-agentd', 7817],
      ['core-context', 8090],
      ['core-model-gateway', 8092],
      ['core-bridge', 8093],
    ] as const) {
      const url = stack.url(service, port);
      expect((await fetch(`${url}/healthz`)).status, service).to.equal(200);
      expect((await fetch(`${url}/v1/metrics`)).status, service).to.equal(401);
    }
    const alone = containers.filter(
      ({ NetworkSettings }) => `${stack.project}_graph` in NetworkSettings.Networks,
    );
    expect(alone.map(serviceOf).sort()).to.deep.equal(['core-context', 'guard', 'neo4j']);
  });

  it('gives nothing a way to the internet but what asks forges, models and dashboards', async function () {
    this.timeout(900_000);
    const label = `label=com.docker.compose.project=${stack.project}`;
    const ids = (await dockerDone(['network', 'ls', '--quiet', '--filter', label])).split('\n');
    const networks: Network[] = JSON.parse(await dockerDone(['network', 'inspect', ...ids]));
    const open = new Set(networks.filter(({ Internal }) => !Internal).map(({ Name }) => Name));
    expect([...open]).to.deep.equal([`${stack.project}_outside`]);
    const containers = await stack.inspected();
    const on = (network: string) =>
      containers.filter(({ NetworkSettings }) => network in NetworkSettings.Networks).map(serviceOf);
    expect(on(`${stack.project}_outside`).sort()).to.deep.equal([
      'core-agentd',
      'core-bridge',
      'core-model-gateway',
      'publisher',
    ]);
    expect(on('none').sort()).to.deep.equal(['keeper', 'site']);
  });

  it('publishes the ports of internal networks by a container that has only sockets of theirs, which it cannot replace', async function () {
    this.timeout(900_000);
    const { Mounts, NetworkSettings } = await stack.inspect('publisher');
    expect(Object.keys(NetworkSettings.Networks)).to.deep.equal([`${stack.project}_outside`]);
    expect(Mounts.map(({ Destination, RW }) => [Destination, RW]).sort()).to.deep.equal([
      ['/etc/nginx/nginx.conf', false],
      ['/run/guard', false],
      ['/run/site', false],
    ]);
    const users = (await stack.inspected()).filter(({ Mounts }) =>
      Mounts.some(({ Name }) => /_(guard|site)-sockets$/.test(Name ?? '')),
    );
    expect(users.map(serviceOf).sort()).to.deep.equal(['guard', 'publisher', 'site']);
  });

  it('leads from an internal network to the bus alone, and to nothing else by the guard', async function () {
    this.timeout(900_000);
    const targets = ['guard:49134', 'guard:7687', 'guard:8090', 'neo4j:7687', 'publisher:7687', 'site:80'];
    const look = `const { connect } = require('node:net');
      const reaches = (target) => new Promise((resolve) => {
        const [host, port] = target.split(':');
        const socket = connect({ host, port: Number(port), timeout: 10_000 });
        for (const [event, answer] of [['connect', true], ['error', false], ['timeout', false]])
          socket.on(event, () => { socket.destroy(); resolve(answer); });
      });
      Promise.all(${JSON.stringify(targets)}.map(async (target) => [target, await reaches(target)]))
        .then((found) => console.log(JSON.stringify(found.filter(([, answer]) => answer).map(([target]) => target))));`;
    expect(JSON.parse(await stack.exec('core-bus-worker', 'node', '-e', look))).to.deep.equal([
      'guard:49134',
    ]);
  });

  it('runs one init in each container', async function () {
    this.timeout(900_000);
    const first = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done";
    const processes = (await stack.exec('neo4j', 'bash', '-c', first)).split('\n');
    expect(processes.filter((line) => /tini|docker-init/.test(line))).to.have.length(1);
  });

  it('gives iii a network with worker, bridge and guard alone, publishes no port of it, and pins its version', async function () {
    this.timeout(900_000);
    const text = await dockerDone(
      ['compose', '--file', 'compose.yaml', '--profile', '*', 'config', '--format', 'json'],
      {
        cwd: stack.folder,
      },
    );
    const config = JSON.parse(text);
    const onBus = Object.entries<{ networks?: Record<string, unknown> }>(config.services)
      .filter(([, { networks }]) => networks !== undefined && 'bus' in networks)
      .map(([name]) => name);
    expect(onBus.sort()).to.deep.equal(['core-bridge', 'core-bus-engine', 'core-bus-worker', 'guard']);
    expect(config.services['core-bus-engine']).to.include({ image: 'iiidev/iii:0.22.1' });
    expect(config.services['core-bus-engine']).to.not.have.property('ports');
    const published = Object.values<{ ports?: { host_ip: string; published: string }[] }>(
      config.services,
    ).flatMap(({ ports = [] }) => ports);
    for (const { host_ip } of published) expect(host_ip).to.equal('127.0.0.1');
    expect(published.map((port) => port.published).sort()).to.deep.equal(
      ['3111', '49134', '7687', '7817', '80', '8090', '8092', '8093'].sort(),
    );
  });

  it('shows no secret in image layers, environments, inspections and logs', async function () {
    this.timeout(900_000);
    const secrets = [...stack.secrets(), stack.token()];
    expect(secrets.length).to.be.above(6);
    const ownImages = stack.built.map((name) => `${imageName(name)}:${stack.version}`);
    expect(await layersWith(ownImages, secrets)).to.deep.equal([]);
    const environments = await Promise.all(
      stack.services.map((name) =>
        stack.exec(name, 'node', '-e', 'console.log(JSON.stringify(process.env))'),
      ),
    );
    const texts = {
      history: (
        await Promise.all(ownImages.map((image) => dockerDone(['history', '--no-trunc', image])))
      ).join(),
      environments: environments.join(),
      inspections:
        JSON.stringify(await stack.inspected()) + (await dockerDone(['image', 'inspect', ...ownImages])),
      configuration: await stack.compose(['config']),
      logs: await stack.compose(['logs', '--no-color']),
    };
    expect(texts.logs).to.contain('listens on');
    for (const [name, text] of Object.entries(texts))
      for (const secret of secrets) expect(text.includes(secret), `${name} shows a secret`).to.equal(false);
  });

  it('is refused another state of the sandbox: without the shipped profile bubblewrap does not work', async function () {
    this.timeout(900_000);
    const bwrap = ['--ro-bind', '/', '/', '--unshare-all', '--proc', '/proc', 'true'];
    const image = `core-tools:${stack.version}`;
    const run = (...options: string[]) =>
      docker(['run', '--rm', '--read-only', '--cap-drop=ALL', ...options, image, 'bwrap', ...bwrap]);
    const shipped = [`seccomp=${stack.folder}/config/seccomp/sandbox.json`, 'systempaths=unconfined'];
    const withAll = await run(
      ...[...shipped, 'apparmor=unconfined'].flatMap((option) => ['--security-opt', option]),
    );
    expect(withAll.exitCode, withAll.stderr).to.equal(0);
    expect((await run()).exitCode).to.not.equal(0);
    const added = await run('--security-opt', shipped[0]!);
    expect(added.stderr).to.contain('proc');
  });
}

function portsOf(container: Inspected): { name: string; host: string; port: number }[] {
  return Object.values(container.NetworkSettings.Ports).flatMap((bindings) =>
    (bindings ?? []).map(({ HostIp, HostPort }) => ({
      name: serviceOf(container),
      host: HostIp,
      port: Number(HostPort),
    })),
  );
}

function reaches(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 10_000 });
    const end = (answer: boolean) => () => {
      socket.destroy();
      resolve(answer);
    };
    socket.on('connect', end(true));
    socket.on('error', end(false));
    socket.on('timeout', end(false));
  });
}

/** Which of the texts stand anywhere in the layers; by their place in the list. */
async function layersWith(images: readonly string[], texts: readonly string[]): Promise<number[]> {
  const child = spawn('docker', ['save', ...images], { stdio: ['ignore', 'pipe', 'inherit'] });
  const wanted = texts.map((text) => Buffer.from(text));
  const overlap = Math.max(...wanted.map(({ length }) => length));
  const found = new Set<number>();
  let bytes = 0;
  let tail = Buffer.alloc(0);
  for await (const chunk of child.stdout) {
    const text = Buffer.concat([tail, chunk as Buffer]);
    for (const [index, secret] of wanted.entries()) if (text.includes(secret)) found.add(index);
    bytes += (chunk as Buffer).length;
    tail = text.subarray(-overlap);
  }
  expect(bytes).to.be.above(100_000_000);
  return [...found];
}

import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { readSettings } from '#kit/config/settings.ts';
import { readPostgresSettings } from '#kit/config/storage.ts';
import { readBridgeConfig } from '../../services/bridge/configuration.ts';
import { readBusConfig } from '../../services/bus-engine/configuration.ts';
import { readContextConfig } from '../../services/context/configuration.ts';
import { readGatewayConfig } from '../../services/model-gateway/configuration.ts';
import { readStatusConfig } from '../../services/status/configuration.ts';
import {
  type Container,
  chosenBy,
  folder,
  type Labels,
  type Manifest,
  readKustomization,
  readManifests,
  type Selector,
  workloadsOf,
} from '../fixtures/kubernetes/manifests.ts';
import { schemaProblems } from '../fixtures/kubernetes/schemas.ts';

interface Policy {
  readonly podSelector: Selector;
  readonly policyTypes: readonly string[];
  readonly ingress?: readonly { readonly from: readonly Peer[]; readonly ports: readonly Port[] }[];
  readonly egress?: readonly { readonly to: readonly Peer[]; readonly ports: readonly Port[] }[];
}
interface Peer {
  readonly podSelector?: Selector;
  readonly namespaceSelector?: object;
}
interface Port {
  readonly port: string | number;
}

/** Who asks whom, as in compose.yaml. */
const flows = [
  'agentd>agentd',
  'agentd>bridge',
  'agentd>bus-engine',
  'agentd>context',
  'agentd>model-gateway',
  'bridge>agentd',
  'bridge>bus-engine',
  'bus-worker>agentd',
  'bus-worker>bridge',
  'bus-worker>bus-engine',
  'bus-worker>context',
];

const noEnvironment = {
  CORE_AGENTD_HOST: undefined,
  CORE_AGENTD_PORT: undefined,
  CORE_CONTEXT_URL: undefined,
  CORE_LOG_FORMAT: undefined,
  CORE_LOG_LEVEL: undefined,
};

describe('the manifests for Kubernetes', () => {
  const manifests = readManifests();
  const applied = manifests.filter(({ file }) => file !== 'secrets.example.yaml');
  const workloads = workloadsOf(manifests);
  const containers = workloads.flatMap(({ component, pod }) =>
    [...(pod.initContainers ?? []), ...pod.containers].map((container) => ({ component, container })),
  );
  const ofKind = (kind: string) => applied.filter((manifest) => manifest.kind === kind);
  const specOf = <T>({ object }: Manifest) => object.spec as T;

  it('are what the schemas of Kubernetes allow', async () => {
    expect(manifests).to.have.length.above(35);
    expect(await schemaProblems(manifests)).to.deep.equal([]);
  });

  for (const [what, path, value, problem] of [
    [
      'a misspelled field',
      'spec.template.spec.automountServiceAccountTokens',
      false,
      'automountServiceAccountTokens',
    ],
    ['a field at the wrong place', 'spec.template.spec.containers.0.runAsNonRoot', true, 'runAsNonRoot'],
    ['a wrong type', 'spec.replicas', '2', "'string' is not assignable to type 'number'"],
    [
      'a quantity that is none',
      'spec.template.spec.containers.0.resources.limits.memory',
      '5 GB',
      'quantity',
    ],
  ] as const)
    it(`would not pass with ${what}`, async () => {
      const changed = structuredClone(manifests.find(({ kind }) => kind === 'Deployment')!);
      const steps = path.split('.');
      const last = steps.pop()!;
      const place = steps.reduce<Record<string, unknown>>(
        (object, step) => object[step] as Record<string, unknown>,
        changed.object,
      );
      place[last] = value;
      expect((await schemaProblems([changed])).join('\n')).to.contain(problem);
    });

  it('are all named by the kustomization, and every image is one that the Dockerfile builds', () => {
    const { resources, images, configMapGenerator } = readKustomization();
    expect([...resources].sort()).to.deep.equal([...new Set(applied.map(({ file }) => file))].sort());
    const generated = configMapGenerator.flatMap(({ files }) => files);
    expect([...generated].sort()).to.deep.equal(globSync('settings/*', { cwd: folder }).sort());
    const targets = [
      ...readFileSync(`${folder}../../Dockerfile`, 'utf8').matchAll(/^FROM \S+ AS (\S+)$/gm),
    ].map(([, name]) => (name === 'site' ? 'core-site' : name!));
    const used = new Set(containers.map(({ container }) => container.image));
    expect(images.map(({ name }) => name).sort()).to.deep.equal([...used].sort());
    expect(targets).to.include.members([...used]);
  });

  it('run two of what may be replicated, spread over hosts, of which one stays; of core-context the active one may go', () => {
    const two = workloads.filter(({ replicas }) => replicas === 2).map(({ component }) => component);
    expect(two.sort()).to.deep.equal(['agentd', 'bridge', 'bus-worker', 'context', 'model-gateway', 'site']);
    expect(
      workloads.filter(({ replicas }) => replicas === 1).map(({ component }) => component),
    ).to.have.members(['bus-engine']);
    for (const { component, replicas, pod } of workloads)
      if (replicas === 2)
        expect(pod.topologySpreadConstraints?.[0]?.topologyKey, component).to.equal('kubernetes.io/hostname');
    const kept = ofKind('PodDisruptionBudget').flatMap((budget) =>
      chosenBy(specOf<{ selector: Selector }>(budget).selector, workloads),
    );
    expect(kept.sort()).to.deep.equal(two.filter((component) => component !== 'context').sort());
  });

  it('give nothing rights in the cluster', () => {
    const kinds = new Set(applied.map(({ kind }) => kind));
    for (const kind of ['Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding'])
      expect([...kinds]).to.not.include(kind);
    const [account] = ofKind('ServiceAccount');
    expect(account!.object.automountServiceAccountToken).to.equal(false);
    for (const { component, pod } of workloads) {
      expect(pod.automountServiceAccountToken, component).to.equal(false);
      expect(pod.enableServiceLinks, component).to.equal(false);
      expect(pod.serviceAccountName).to.equal(account!.metadata.name);
      for (const volume of pod.volumes) expect(volume.hostPath, component).to.equal(undefined);
    }
  });

  it('are restricted: no root, no capability, nothing to write to, limits; but for the sandbox of agentd', () => {
    for (const { component, pod } of workloads) {
      expect(pod.securityContext, component).to.deep.include({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(pod.hostUsers, component).to.equal(component === 'agentd' ? false : undefined);
    }
    const exceptions = ['procMount', 'seccompProfile', 'appArmorProfile'];
    for (const { component, container } of containers) {
      const { securityContext, resources } = container;
      expect(securityContext, component).to.deep.include({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      const others = Object.keys(securityContext!).filter((key) => exceptions.includes(key));
      expect(others, component).to.deep.equal(container.name === 'core-agentd' ? exceptions : []);
      expect(resources?.limits?.memory, component).to.match(/^\d+[MG]i$/);
      expect(Object.keys(resources?.requests ?? {}), component).to.have.members(['cpu', 'memory']);
    }
    const sandboxed = containers.find(({ container }) => container.name === 'core-agentd')!.container;
    expect(sandboxed.securityContext).to.deep.include({
      procMount: 'Unmasked',
      seccompProfile: { type: 'Localhost', localhostProfile: 'core/sandbox.json' },
      appArmorProfile: { type: 'Unconfined' },
    });
  });

  it('ask each service whether it is ready under a name that its settings allow', () => {
    const allowed = new Map(
      globSync('settings/*.json', { cwd: folder }).map((path) => {
        const { agentd, ...own } = JSON.parse(readFileSync(`${folder}${path}`, 'utf8'));
        return [path, (agentd ?? own).allowed_hosts ?? []];
      }),
    );
    const names = [...allowed.values()].flat();
    for (const { component, pod } of workloads) {
      const [{ name, readinessProbe, livenessProbe, ports }] = pod.containers as [Container, ...Container[]];
      expect(readinessProbe, component).to.be.an('object');
      if (ports === undefined) continue;
      expect(livenessProbe, component).to.deep.include({ tcpSocket: { port: 'http' } });
      if (component === 'site') continue;
      expect(readinessProbe!.httpGet!.path).to.equal('/healthz');
      expect(readinessProbe!.httpGet!.httpHeaders!.map(({ value }) => value)).to.deep.equal([name]);
      expect(names, component).to.include(name);
    }
  });

  it('tell everybody where the bus is but the engine, which would listen there', () => {
    for (const { component, container } of containers.filter(
      ({ container }) => container.env !== undefined,
    )) {
      const names = container.env!.map(({ name }) => name);
      expect(names.includes('CORE_BUS_HOST'), component).to.equal(component !== 'bus-engine');
    }
  });

  it('mount secrets that the example has, and no value of one is in them', () => {
    const secrets = manifests.filter(({ kind }) => kind === 'Secret');
    const mounted = workloads.flatMap(({ pod }) =>
      pod.volumes.flatMap(({ secret, projected }) => [
        ...(secret === undefined ? [] : [secret.secretName]),
        ...(projected?.sources.map(({ secret }) => secret.name) ?? []),
      ]),
    );
    expect([...new Set(mounted)].sort()).to.deep.equal(secrets.map(({ metadata }) => metadata.name).sort());
    for (const { object, file } of secrets) {
      expect(file).to.equal('secrets.example.yaml');
      for (const value of Object.values(object.stringData as Labels))
        expect(value).to.match(/^PLACEHOLDER: /);
    }
  });

  it('have settings that each service reads, with a password where the secret puts it', () => {
    const folders = { config: `${folder}settings` };
    const sources = { folders, environment: {} };
    const bindings = [
      readSettings({ folders, environment: noEnvironment }).agentd,
      readContextConfig(sources),
      readGatewayConfig(sources),
      readBridgeConfig(sources, []),
      readBusConfig(sources),
    ];
    for (const { host, behind_proxy } of bindings)
      expect([host, behind_proxy]).to.deep.equal(['0.0.0.0', true]);
    expect(readStatusConfig(folders)).to.include({ manager: 'none', production_like: 'yes' });
    const database = manifests.find(({ metadata }) => metadata.name === 'core-database')!;
    const [file] = Object.keys(database.object.stringData as Labels);
    expect(readPostgresSettings({ ...folders, state: folder })!.password_file).to.equal(
      `/run/core/secrets/${file}`,
    );
  });

  it('deny every flow but those of compose.yaml, each let out and let in, at ports that there are', () => {
    const policies = ofKind('NetworkPolicy').map((policy) => specOf<Policy>(policy));
    const none = policies.find(({ ingress, egress }) => ingress === undefined && egress === undefined)!;
    expect(none).to.deep.equal({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
    const out = new Set<string>();
    const into = new Set<string>();
    for (const { podSelector, ingress = [], egress = [] } of policies) {
      const own = chosenBy(podSelector, workloads);
      expect(own).to.not.have.length(0);
      for (const { to, ports } of egress)
        for (const peer of to.filter(isOurs))
          for (const target of checkPorts(chosenBy(peer.podSelector!, workloads), ports))
            for (const from of own) out.add(`${from}>${target}`);
      for (const { from, ports } of ingress) {
        checkPorts(own, ports.slice(0, 1));
        for (const peer of from.filter(isOurs))
          for (const source of chosenBy(peer.podSelector!, workloads))
            for (const target of own) into.add(`${source}>${target}`);
      }
    }
    expect([...out].sort()).to.deep.equal(flows);
    expect([...into].sort()).to.deep.equal(flows);
  });

  it('let those out to database and bucket that use them, wherever these are', () => {
    const allowed = (cidr: string, port: number) =>
      ofKind('NetworkPolicy')
        .map((policy) => specOf<Policy>(policy))
        .filter(({ egress = [] }) =>
          egress.some(
            ({ to, ports }) =>
              to.some((peer) => (peer as { ipBlock?: { cidr: string } }).ipBlock?.cidr === cidr) &&
              ports.some((one) => one.port === port),
          ),
        )
        .flatMap(({ podSelector }) => chosenBy(podSelector, workloads))
        .sort();
    expect(allowed('192.0.2.10/32', 5432)).to.deep.equal([
      'agentd',
      'bridge',
      'bus-engine',
      'context',
      'model-gateway',
    ]);
    expect(allowed('192.0.2.20/32', 443)).to.deep.equal(['agentd', 'context']);
  });

  const isOurs = ({ podSelector, namespaceSelector }: Peer) =>
    podSelector !== undefined && namespaceSelector === undefined;

  function checkPorts(targets: readonly string[], ports: readonly Port[]): readonly string[] {
    for (const target of targets) {
      const { pod } = workloads.find(({ component }) => component === target)!;
      const names = pod.containers.flatMap(({ ports = [] }) => ports.map(({ name }) => name));
      expect(names, target).to.include.members(ports.map(({ port }) => String(port)));
    }
    return targets;
  }

  it('have services that reach the ports of their pods', () => {
    const services = ofKind('Service');
    expect(services).to.have.length(6);
    for (const { metadata, object } of services) {
      const { selector, ports } = object.spec as {
        selector: Labels;
        ports: { port: number; targetPort: string }[];
      };
      const [target] = chosenBy({ matchLabels: selector }, workloads);
      expect(`core-${target}`).to.equal(metadata.name);
      const { pod } = workloads.find(({ component }) => component === target)!;
      expect(ports.map(({ port, targetPort }) => ({ name: targetPort, containerPort: port }))).to.deep.equal(
        pod.containers[0]!.ports,
      );
    }
  });
});

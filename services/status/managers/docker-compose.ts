import { execa } from 'execa';
import * as t from 'io-ts';
import { urlHost } from '#kit/config/address.ts';
import { platformServices } from '#kit/contracts/platform-services.ts';
import { decode, nullable, optional, parseJson } from '#kit/decode.ts';
import { Unavailable } from '#kit/errors.ts';
import type { StatusConfig } from '../configuration.ts';
import type { Deployment, ServiceManager, Unit } from './service-manager.ts';

/** One container, as `docker compose ps --format json` reports it. */
const Container = t.strict({
  Service: t.string,
  State: t.string,
  Status: optional(t.string),
  Health: optional(t.string),
  ExitCode: optional(t.number),
  ID: optional(t.string),
  /** `name=value`, separated by commas. */
  Labels: optional(t.string),
  Publishers: optional(
    nullable(t.array(t.strict({ URL: t.string, TargetPort: t.number, PublishedPort: t.number }))),
  ),
});
type Container = t.TypeOf<typeof Container>;

const Variables = t.array(t.string);

export function dockerCompose(
  { file, project }: StatusConfig['compose'],
  program: { readonly command: string } = { command: 'docker' },
): ServiceManager {
  const chosen = [
    ...(file === null ? [] : ['--file', file]),
    ...(project === null ? [] : ['--project-name', project]),
  ];
  const named = ['docker compose', ...chosen].join(' ');

  let containers: readonly Container[] = [];

  const compose = (args: readonly string[], signal: AbortSignal) =>
    docker(['compose', ...chosen, ...args], signal);

  async function docker(args: readonly string[], signal: AbortSignal): Promise<string> {
    const ended = await execa(program.command, args, {
      reject: false,
      stdin: 'ignore',
      cancelSignal: signal,
      forceKillAfterDelay: 200,
      maxBuffer: 4 * 1024 * 1024,
    });
    if (!ended.failed) return ended.stdout;
    const why =
      ended.code === 'ENOENT'
        ? 'docker is not installed'
        : ended.isCanceled
          ? 'it did not answer in time'
          : ended.stderr.trim().split('\n').at(-1) || ended.shortMessage;
    throw new Unavailable('service_manager_unavailable', `${named} cannot be asked: ${why}`, {
      hint: 'Start Docker, or set manager in status.json.',
    });
  }

  return {
    kind: 'compose',
    detail: named,
    async units(signal) {
      const [listed, names] = await Promise.all([
        compose(['ps', '--all', '--format', 'json'], signal),
        compose(['config', '--services'], signal),
      ]);
      containers = containersIn(listed);
      const units = new Map<string, Unit>();
      for (const container of containers) {
        const unit = unitOf(container, named);
        // Of several replicas the one that is not well counts.
        if (units.has(container.Service) && unit.state === 'running') continue;
        units.set(container.Service, unit);
      }
      // A service of the file that has no container.
      for (const Service of names.split('\n').filter((line) => line !== '' && containers.length > 0))
        if (!units.has(Service))
          units.set(Service, unitOf({ Service, State: 'missing', Status: 'has no container' }, named));
      return units;
    },
    async environment(service, signal) {
      const id = containers.find((one) => one.Service === service)?.ID;
      if (id === undefined) return null;
      const text = await docker(['inspect', '--format', '{{json .Config.Env}}', id], signal);
      const variables = decode(Variables, parseJson(text, 'docker inspect'), 'docker inspect');
      return Object.fromEntries(
        variables.map((line) => [line.split('=', 1)[0]!, line.slice(line.indexOf('=') + 1)]),
      );
    },
    deployment: () => deploymentOf(containers),
  };
}

/** Docker answers for the ports that it publishes: whoever listens there is a container of this project. */
function deploymentOf(containers: readonly Container[]): Deployment {
  const published = containers.flatMap(({ Publishers }) =>
    (Publishers ?? [])
      .filter(({ PublishedPort }) => PublishedPort > 0)
      .map(({ URL: host, TargetPort, PublishedPort }) => {
        const reached = host === '' || host === '0.0.0.0' || host === '::' ? '127.0.0.1' : urlHost(host);
        return [TargetPort, `${reached}:${PublishedPort}`] as const;
      }),
  );
  const folder = containers
    .flatMap(({ Labels }) => (Labels ?? '').split(','))
    .find((label) => label.startsWith(folderLabel));
  return { published: new Map(published), folder: folder?.slice(folderLabel.length) ?? null };
}

const folderLabel = 'com.docker.compose.project.working_dir=';

/** One object for each line, or, before Docker Compose 2.21, one list. */
function containersIn(text: string): Container[] {
  const trimmed = text.trim();
  if (trimmed === '') return [];
  const what = 'docker compose ps';
  const documents = trimmed.startsWith('[')
    ? parseJson(trimmed, what)
    : trimmed.split('\n').map((line) => parseJson(line, what));
  return decode(t.array(Container), documents, what);
}

function unitOf(
  { Service, State, Status, Health, ExitCode }: Pick<Container, 'Service' | 'State'> & Partial<Container>,
  named: string,
): Unit {
  const known = { pid: null, restarts: null, since: null };
  const detail = Status || State;
  const logs = `${named} logs ${Service}`;
  const start = `${named} up --detach ${Service}`;
  switch (State) {
    case 'running':
      if (Health === 'unhealthy') return { ...known, state: 'failed', detail, fix: `Its log: ${logs}` };
      if (Health === 'starting')
        return { ...known, state: 'starting', detail, fix: `Wait, or look: ${logs}` };
      return { ...known, state: 'running', detail, fix: null };
    case 'restarting':
      return { ...known, state: 'waiting', detail, fix: `Its log: ${logs}` };
    case 'paused':
      return { ...known, state: 'stopped', detail, fix: `${named} unpause ${Service}` };
    case 'exited':
      // What prepares others ends when it is done.
      if (ExitCode === 0 && !(platformServices as readonly string[]).includes(Service))
        return { ...known, state: 'left_out', detail: `${detail}; its work is done`, fix: null };
      return {
        ...known,
        state: ExitCode === 0 ? 'stopped' : 'failed',
        detail,
        fix: `${start}; its log: ${logs}`,
      };
    default:
      return { ...known, state: 'missing', detail, fix: start };
  }
}

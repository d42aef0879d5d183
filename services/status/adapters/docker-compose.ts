import { execa } from 'execa';
import * as t from 'io-ts';
import { platformServices } from '#kit/contracts/platform-services.ts';
import { decode, optional, parseJson } from '#kit/decode.ts';
import { Unavailable } from '#kit/errors.ts';
import type { StatusConfig } from '../configuration.ts';
import type { ServiceManager, Unit } from '../service-manager.ts';

/** One container, as `docker compose ps --format json` tells it. */
const Container = t.strict({
  Service: t.string,
  State: t.string,
  Status: optional(t.string),
  Health: optional(t.string),
  ExitCode: optional(t.number),
});
type Container = t.TypeOf<typeof Container>;

/** Services of a compose file that are the platform's under another name. */
const aliases: Readonly<Record<string, string>> = {
  iii: 'core-bus-engine',
  'iii-engine': 'core-bus-engine',
  bus: 'core-bus-engine',
};
const logLines = 2_000;

/** The services of a compose project. */
export function dockerCompose(
  { file, project }: StatusConfig['compose'],
  program: { readonly command: string } = { command: 'docker' },
): ServiceManager {
  const chosen = [
    ...(file === null ? [] : ['--file', file]),
    ...(project === null ? [] : ['--project-name', project]),
  ];
  const named = ['docker compose', ...chosen].join(' ');

  async function compose(args: readonly string[], signal: AbortSignal): Promise<string> {
    const ended = await execa(program.command, ['compose', ...chosen, ...args], {
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
      const containers = containersIn(await compose(['ps', '--all', '--format', 'json'], signal));
      const units = new Map<string, Unit>();
      for (const container of containers) {
        const name = platformName(container.Service);
        const unit = unitOf(container, named);
        // Of several replicas the one that is not well counts.
        if (units.get(name)?.state !== undefined && unit.state === 'running') continue;
        units.set(name, unit);
      }
      return units;
    },
    async log(service, signal) {
      const own = Object.entries(aliases).find(([, name]) => name === service)?.[0];
      const names = [
        service,
        service.replace(/^core-/, ''),
        ...(own === undefined ? [] : Object.keys(aliases)),
      ];
      const known = (await compose(['config', '--services'], signal)).split('\n');
      const found = names.find((name) => known.includes(name));
      if (found === undefined) return null;
      return compose(['logs', '--no-color', '--no-log-prefix', '--tail', String(logLines), found], signal);
    },
  };
}

/** One object for each line, or, before Docker Compose 2.21, one list. */
export function containersIn(text: string): Container[] {
  const trimmed = text.trim();
  if (trimmed === '') return [];
  const what = 'docker compose ps';
  const documents = trimmed.startsWith('[')
    ? parseJson(trimmed, what)
    : trimmed.split('\n').map((line) => parseJson(line, what));
  return decode(t.array(Container), documents, what);
}

function platformName(service: string): string {
  const full = `core-${service}`;
  if ((platformServices as readonly string[]).includes(full)) return full;
  return aliases[service] ?? service;
}

function unitOf({ Service, State, Status, Health, ExitCode }: Container, named: string): Unit {
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
      if (ExitCode === 0 && !(platformServices as readonly string[]).includes(platformName(Service)))
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

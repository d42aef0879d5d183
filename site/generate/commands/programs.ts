import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { CoreCommand } from '../../../services/kit/cli/core-command.ts';
import { define as defineSupervisor } from '../../../services/supervisor/commands.ts';
import { declaredBy } from '../../../services/supervisor/programs.ts';

const run = () => Promise.resolve();
const services = fileURLToPath(new URL('../../../services/', import.meta.url));

export interface DocumentedProgram {
  /** What people type before a command of it. */
  readonly call: string;
  readonly title: string;
  readonly about: string;
  /** The folder in `services/` that declares it. */
  readonly service: string;
  readonly load: () => Promise<Command>;
}

const described: readonly DocumentedProgram[] = [
  {
    call: './core',
    title: 'The stack',
    about: 'What starts, examines and sets up the services of this machine.',
    service: 'supervisor',
    async load() {
      const program = new CoreCommand('core');
      defineSupervisor(program, run);
      return program;
    },
  },
  {
    call: './core',
    title: 'Runs and the local forge',
    about: '`core-agentd` takes the same commands.',
    service: 'agentd',
    load: () => declaredBy('agentd'),
  },
  {
    call: './core context',
    title: 'Graph and memory',
    about: '`core-context` takes the same commands. All but `serve` ask the service that `./core up` starts.',
    service: 'context',
    load: () => declaredBy('context'),
  },
  {
    call: './core model',
    title: 'Models',
    about:
      '`core-model-gateway` takes the same commands. `usage` asks the service that `./core up` starts; the others need none.',
    service: 'model-gateway',
    load: () => declaredBy('model-gateway'),
  },
  {
    call: './core bridge',
    title: 'Dashboards and schedules',
    about: '`core-bridge` takes the same commands. All but `serve` ask the service that `./core up` starts.',
    service: 'bridge',
    load: () => declaredBy('bridge'),
  },
  {
    call: './core bus',
    title: 'The bus',
    about:
      '`core-bus-engine` takes the same commands. All but `serve` ask the engine that `./core up` starts.',
    service: 'bus-engine',
    load: () => declaredBy('bus-engine'),
  },
  {
    call: './core worker',
    title: 'Functions on the bus',
    about:
      '`core-bus-worker` takes the same commands. `functions` and `call` ask the bus that `./core up` starts.',
    service: 'bus-worker',
    load: () => declaredBy('bus-worker'),
  },
  {
    call: './core status',
    title: 'Status',
    about: '`core-status` is another name for it.',
    service: 'status',
    load: () => declaredBy('status'),
  },
  {
    call: './core tui',
    title: 'On one screen',
    about: '`core-terminal` is another name for it. It asks the daemon that `./core up` starts.',
    service: 'terminal',
    load: () => declaredBy('terminal'),
  },
];

const withCommands = globSync('*/cli/program.ts', { cwd: services })
  .map((path) => path.split('/')[0]!)
  .filter((service) => service !== 'kit')
  .sort();

/** Every program that is there, in the order of the page; one that nobody describes above stands last, under its own name. */
export const programs: readonly DocumentedProgram[] = [
  ...described.filter(({ service }) => service === 'supervisor' || withCommands.includes(service)),
  ...withCommands
    .filter((service) => !described.some((known) => known.service === service))
    .map((service) => ({
      call: `core-${service}`,
      title: `core-${service}`,
      about: '',
      service,
      load: () => declaredBy(service),
    })),
];

export interface DocumentedCommand {
  /** As people type it, for example `./core forge issue new`. */
  readonly call: string;
  readonly command: Command;
}

/** The commands that do something, without those that only hold others. A program without commands is one itself. */
export function leafCommands(program: Command, call: string): DocumentedCommand[] {
  if (program.commands.length === 0) return [{ call, command: program }];
  return program.commands.flatMap((command) => {
    const own = `${call} ${command.name()}`;
    if (command.commands.length === 0) return [{ call: own, command }];
    const itself = command.registeredArguments.length > 0 ? [{ call: own, command }] : [];
    return [...itself, ...leafCommands(command, own)];
  });
}

import { Command } from 'commander';
import { declareProgram as declareAgentd } from '../../../services/agentd/cli/program.ts';
import { bridgeProgram } from '../../../services/bridge/cli/program.ts';
import { busProgram } from '../../../services/bus-engine/cli/program.ts';
import { workerProgram } from '../../../services/bus-worker/cli/program.ts';
import { contextProgram } from '../../../services/context/cli/program.ts';
import { declareProgram, type ServiceProgram } from '../../../services/kit/cli/program.ts';
import { gatewayProgram } from '../../../services/model-gateway/cli/program.ts';
import { statusProgram } from '../../../services/status/cli/program.ts';
import { ownCommands } from '../../../services/supervisor/own-commands.ts';

const run = () => Promise.resolve();

export interface DocumentedProgram {
  /** What people type before a command of it. */
  readonly call: string;
  readonly title: string;
  readonly about: string;
  /** The folder in `services/` that declares it. */
  readonly service: string;
  readonly load: () => Promise<Command>;
}

/** Every program, in the order of the page. A new service adds its own here. */
export const programs: readonly DocumentedProgram[] = [
  {
    call: './core',
    title: 'The stack',
    about: 'What starts, examines and sets up the services of this machine.',
    service: 'supervisor',
    async load() {
      const program = new Command('core');
      for (const load of Object.values(ownCommands)) (await load()).define(program, run);
      return program;
    },
  },
  {
    call: './core',
    title: 'Runs and the local forge',
    about: '`core-agentd` takes the same commands.',
    service: 'agentd',
    load: async () => declareAgentd({ name: 'core-agentd', version: '', run }),
  },
  {
    call: './core context',
    title: 'Graph and memory',
    about: '`core-context` takes the same commands. All but `serve` ask the service that `./core up` starts.',
    service: 'context',
    load: async () => declare('core-context', contextProgram),
  },
  {
    call: './core model',
    title: 'Models',
    about:
      '`core-model-gateway` takes the same commands. `usage` asks the service that `./core up` starts; the others need none.',
    service: 'model-gateway',
    load: async () => declare('core-model-gateway', gatewayProgram),
  },
  {
    call: './core bridge',
    title: 'Dashboards and schedules',
    about: '`core-bridge` takes the same commands. All but `serve` ask the service that `./core up` starts.',
    service: 'bridge',
    load: async () => declare('core-bridge', bridgeProgram),
  },
  {
    call: './core bus',
    title: 'The bus',
    about:
      '`core-bus-engine` takes the same commands. All but `serve` ask the engine that `./core up` starts.',
    service: 'bus-engine',
    load: async () => declare('core-bus-engine', busProgram),
  },
  {
    call: 'core-bus-worker',
    title: 'Functions on the bus',
    about: '`./core up` starts it; it has no name of its own in `./core`.',
    service: 'bus-worker',
    load: async () => declare('core-bus-worker', workerProgram),
  },
  {
    call: './core status',
    title: 'Status',
    about: '`core-status` is another name for it.',
    service: 'status',
    load: async () => declare('core-status', statusProgram),
  },
];

function declare(name: string, { description, groups }: ServiceProgram): Command {
  const define: ServiceProgram['groups'][number]['define'] = (program, runCommand) => {
    for (const group of groups) group.define(program, runCommand);
  };
  return declareProgram({ name, description, define }, run);
}

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
    return command.commands.length > 0 ? leafCommands(command, own) : [{ call: own, command }];
  });
}

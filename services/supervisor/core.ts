import { realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandIndex } from '#kit/cli/command-word.ts';
import { displayOf } from '#kit/cli/display.ts';
import { printText } from '#kit/cli/output.ts';
import { environment } from '#kit/environment.ts';
import { ownVersion } from '#kit/program.ts';
import { shellWord } from '#kit/shell-word.ts';
import { commandNames, overview } from './overview.ts';
import { services, startService } from './programs.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Commands of the supervisor itself. */
const ownCommands = [
  'up',
  'doctor',
  'token',
  'quickstart',
  'backup',
  'restore',
  'storage',
  'secrets',
  'install',
  'completion',
];

/** What `./core` does: starts the program that a command belongs to, in this process, and loads nothing else. */
export async function dispatch(args: readonly string[]): Promise<number> {
  const name = calledAs(join(root, 'core'));
  const command = commandOf(args);
  if (command === undefined && args.includes('--version')) return print(`${ownVersion()}\n`, args);
  if (command === undefined && (args.length === 0 || args.includes('--help') || args.includes('-h')))
    return print(overview(name), args);
  if (command === 'help') {
    const rest = args.filter((word) => word !== 'help');
    const about = commandOf(rest);
    if (about === undefined) return print(overview(name), args);
    return dispatch(isCommand(about) ? [...rest, '--help'] : rest);
  }
  if (command !== undefined && ownCommands.includes(command)) {
    const { runSupervisorProgram } = await import('./commands.ts');
    return runSupervisorProgram(args, name);
  }
  const service = services.get(command ?? '');
  if (service === undefined) {
    if (command !== undefined && !isCommand(command)) {
      const { reportUnknownCommand } = await import('#kit/cli/program.ts');
      return reportUnknownCommand(args, name, commandNames);
    }
    return startService('agentd', { args, program: name });
  }
  const rest = args.toSpliced(commandIndex(args), 1);
  return startService(service, { args: rest, program: `${name} ${command}` });
}

function print(text: string, args: readonly string[]): number {
  printText(text, displayOf(process.stdout, args.includes('--ascii'), environment));
  return 0;
}

function commandOf(args: readonly string[]): string | undefined {
  return args[commandIndex(args)];
}

function isCommand(word: string): boolean {
  return word === 'serve' || commandNames.includes(word);
}

/** How a person calls this program from where they are: `./core`, `core` when it is on PATH, else its full path. */
function calledAs(launcher: string): string {
  if (join(process.cwd(), 'core') === launcher) return './core';
  return isOnPath(launcher) ? 'core' : shellWord(launcher);
}

function isOnPath(launcher: string): boolean {
  for (const folder of (environment.PATH ?? '').split(delimiter)) {
    try {
      if (folder !== '') return realpathSync(join(folder, 'core')) === realpathSync(launcher);
    } catch {
      // Not in this folder; the next one may have it.
    }
  }
  return false;
}

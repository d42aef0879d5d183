import { fileURLToPath } from 'node:url';
import { ownVersion } from '#kit/own-version.ts';
import { flushOutput, surviveLostOutput } from '#kit/standard-output.ts';
import { keepFilesPrivate } from '#kit/umask.ts';
import { commandNames, overview } from './overview.ts';
import { ownCommands } from './own-commands.ts';
import { calledAs } from './program-name.ts';

/**
 * The dispatcher of `./core`: starts the program that a command belongs to, in this process, and loads nothing else.
 */
const root = fileURLToPath(new URL('../../', import.meta.url));

/** Commands of programs other than core-agentd, with the folder of each. */
const services: ReadonlyMap<string, string> = new Map([
  ['context', 'context'],
  ['model', 'model-gateway'],
  ['bus', 'bus-engine'],
  ['worker', 'bus-worker'],
  ['bridge', 'bridge'],
  ['status', 'status'],
  ['tui', 'terminal'],
]);

keepFilesPrivate();
surviveLostOutput();
process.exitCode = await start(process.argv.slice(2));
await flushOutput();
process.exit();

async function start(args: readonly string[]): Promise<number> {
  const command = commandOf(args);
  if (command === undefined && args.includes('--version')) {
    process.stdout.write(`${ownVersion()}\n`);
    return 0;
  }
  if (command === undefined && (args.length === 0 || args.includes('--help') || args.includes('-h'))) {
    process.stdout.write(overview(calledAs(root)));
    return 0;
  }
  if (command === 'help') {
    const rest = args.filter((word) => word !== 'help');
    const about = commandOf(rest);
    if (about !== undefined) return start(isCommand(about) ? [...rest, '--help'] : rest);
    process.stdout.write(overview(calledAs(root)));
    return 0;
  }
  const own = command === undefined ? undefined : ownCommands[command];
  if (own !== undefined) {
    const { runOwnCommand } = await import('./run-own-command.ts');
    return runOwnCommand(own, args, calledAs(root));
  }
  const service = services.get(command ?? '');
  if (service !== undefined) {
    const rest = args.toSpliced(commandIndex(args), 1);
    return startService(service, rest, `${calledAs(root)} ${command}`);
  }
  return startService('agentd', args, calledAs(root));
}

/** Other services are started by their files, never imported as modules of this one. */
async function startService(name: string, args: readonly string[], calledBy: string): Promise<number> {
  const program: Program = await import(new URL(`../${name}/main.ts`, import.meta.url).href);
  return program.main({ args, program: calledBy, version: ownVersion() });
}

interface Program {
  main(start: {
    readonly args: readonly string[];
    readonly program: string;
    readonly version: string;
  }): Promise<number>;
}

function commandOf(args: readonly string[]): string | undefined {
  return args[commandIndex(args)];
}

/** Of the first word that is neither an option nor the value of one. */
function commandIndex(args: readonly string[]): number {
  return args.findIndex((word, index) => !word.startsWith('-') && args[index - 1] !== '--home');
}

function isCommand(word: string): boolean {
  return word === 'serve' || commandNames.includes(word);
}

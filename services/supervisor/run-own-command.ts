import { Command, CommanderError } from 'commander';
import { environment } from '#kit/environment.ts';
import { CoreError, exitCodes, messageOf } from '#kit/errors.ts';
import type { OwnCommand, OwnCommandContext } from './own-command.ts';

/** Parses and runs one command of the supervisor; tells what it throws, and gives the exit code. */
export async function runOwnCommand(
  load: () => Promise<OwnCommand>,
  args: readonly string[],
  name: string,
): Promise<number> {
  let exitCode: number = exitCodes.done;
  const program = new Command(name)
    .option('--home <dir>', 'folder with state/ and config/')
    .option('--json', 'results as JSON')
    .option('--verbose', 'more of what happens, on standard error')
    .option('--no-color', 'no colours (also NO_COLOR)');
  const command = await load();
  command.define(program, async (work) => {
    exitCode = await work(contextOf(program, name));
  });
  let help = '';
  keepQuiet(program, (text) => {
    help = text;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) return tell(error, args);
    if (error.exitCode === 0) return exitCodes.done;
    if (error.code === 'commander.help') {
      process.stderr.write(help);
      return exitCodes.usage;
    }
    return tell(new CoreError('usage', error.message.replace(/^error: /, '')), args, exitCodes.usage);
  }
}

function contextOf(program: Command, name: string): OwnCommandContext {
  const { home, json, verbose, color } = program.opts();
  const paints = color !== false && process.stdout.isTTY === true && (environment.NO_COLOR ?? '') === '';
  return {
    program: name,
    home,
    json: json === true,
    verbose: verbose === true,
    color: color !== false,
    paints,
  };
}

/** Wrong usage is told in our own form, so the parser's words are kept from the terminal. */
function keepQuiet(command: Command, writeErr: (text: string) => void): void {
  command.exitOverride().configureOutput({ writeErr });
  for (const child of command.commands) keepQuiet(child, writeErr);
}

function tell(error: unknown, args: readonly string[], exitCode?: number): number {
  const known = error instanceof CoreError;
  const code = exitCode ?? (known ? error.exitCode : exitCodes.failed);
  const message = messageOf(error);
  const hint = known ? error.hint : undefined;
  if (args.includes('--json')) {
    const facts = {
      code: known ? error.code : 'internal',
      message,
      exit_code: code,
      ...(hint === undefined ? {} : { hint }),
    };
    process.stderr.write(`${JSON.stringify({ error: facts })}\n`);
    return code;
  }
  process.stderr.write(`error  ${safe(message)}${known ? `  [${error.code}]` : ''}\n`);
  if (!known && error instanceof Error) process.stderr.write(`       ${safe(error.stack ?? '')}\n`);
  if (hint !== undefined) process.stderr.write(`   do  ${safe(hint)}\n`);
  return code;
}

/** These errors are our own words; a port's owner or a path in them must still not move the cursor. */
function safe(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, (found) =>
    found === '\n' ? '\n       ' : `\\u{${found.codePointAt(0)!.toString(16)}}`,
  );
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Option } from 'commander';
import { type ProgramStart, runServiceProgram } from '#kit/cli/program.ts';
import { agentdUrl } from '#kit/config/client-urls.ts';
import { environment } from '#kit/environment.ts';
import { InvalidInput } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import { ownToken } from '#kit/tokens/tokens.ts';
import { repositoryHere } from '../client/repository-here.ts';
import { glyphsFor } from '../screen/glyphs.ts';
import { type Theme, themes } from '../screen/writer.ts';

const ownFolder = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');

const description = `Runs and their actions on one screen: read, approve, execute, undo. ? lists the keys.
Asks the running core-agentd; ./core up starts it.`;

interface Options {
  readonly plain?: boolean;
  readonly theme?: string;
}

export function runTerminalProgram(start: ProgramStart): Promise<number> {
  return runServiceProgram(start, {
    description,
    groups: [
      {
        define(program, run) {
          program
            .argument('[run]', 'open this run: its identifier or a unique beginning of it')
            .option(
              '--plain',
              'ask line by line, for screen readers and for terminals that cannot move the cursor',
            )
            .addOption(
              new Option(
                '--theme <theme>',
                'for a light or dark terminal (also CORE_THEME); auto asks the terminal',
              ).choices(['auto', ...themes]),
            )
            .action((id: string | undefined, options: Options) =>
              run(async ({ home, color, display, program: name }) => {
                const folders = resolveFolders({ home }, environment);
                const here = workingCopyHere();
                const command = commandLine(name, home);
                const common = {
                  baseUrl: agentdUrl({ folders, environment }),
                  token: () => ownToken(folders).text,
                  approver: () => ownToken(folders).name,
                  glyphs: glyphsFor(display.symbols),
                  startCommand: command('up'),
                  command,
                  tokens: folders.tokens,
                  program: name,
                  home,
                  here,
                  hereRepository: here === null ? null : await repositoryHere(here),
                  run: id ?? null,
                };
                if (options.plain === true || environment.TERM === 'dumb') {
                  const { runPlain } = await import('../plain/plain.ts');
                  return runPlain({ ...common, stdin: process.stdin, stdout: process.stdout });
                }
                if (!process.stdin.isTTY || !process.stdout.isTTY) {
                  throw new InvalidInput('no_terminal', 'standard input and output must be a terminal', {
                    hint: `${name} --plain asks line by line; ./core runs lists runs for a pipe.`,
                  });
                }
                const { runShell } = await import('../shell.ts');
                const mayPaint = color && (environment.NO_COLOR ?? '') === '';
                await runShell({
                  ...common,
                  stdin: process.stdin,
                  stdout: process.stdout,
                  color: mayPaint,
                  theme: themeFor(options.theme ?? environment.CORE_THEME),
                });
                return 0;
              }),
            );
        },
      },
    ],
  });
}

/** null: the terminal is asked. */
function themeFor(name: string | undefined): Theme | null {
  if (name === undefined || name === '' || name === 'auto') return null;
  const theme = themes.find((one) => one === name);
  if (theme !== undefined) return theme;
  throw new InvalidInput(
    'invalid_option',
    `CORE_THEME is '${name}': must be one of auto, ${themes.join(', ')}`,
  );
}

/** Commands as they can be pasted. */
function commandLine(name: string, home: string | undefined): (words: string) => string {
  const core = name.endsWith(' tui') ? name.slice(0, -4) : 'core';
  return (words) => (home === undefined ? `${core} ${words}` : `${core} ${words} --home ${home}`);
}

/** The folder that the command was started in, when it is a working copy. */
function workingCopyHere(): string | null {
  const folder = process.cwd();
  // Core's own folder is where it is started from, hardly ever what it changes.
  return existsSync(join(folder, '.git')) && folder !== ownFolder ? folder : null;
}

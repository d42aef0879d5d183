import { homedir } from 'node:os';
import type { Argument, Command, Option } from 'commander';
import type { GeneratedPage } from '../generated-page.ts';
import { blocks, code, generatedPage, plain, table } from '../markdown.ts';
import { type DocumentedCommand, leafCommands, programs } from './programs.ts';

export async function commandsPage(): Promise<GeneratedPage> {
  const sections = await Promise.all(
    programs.map(async ({ title, about, call, load }) => {
      const program = await load();
      return blocks(`## ${title}`, about, ...leafCommands(program, call).map(commandSection));
    }),
  );
  const text = generatedPage(
    'Commands and flags',
    'the parsers of the programs',
    'Every command with all that it takes. [Commands](../commands.md) says what they are for, and what they print.',
    `After \`./core install\` each is typed without \`./\`. Every command also takes these:`,
    table(
      ['Flag', 'Meaning'],
      [
        [
          '`--home <dir>`',
          'folder with `state/` and `config/`; else `CORE_HOME`, else the [XDG folders](../configuration.md#folders)',
        ],
        ['`--json`', 'results as JSON'],
        ['`--verbose`', 'more of what happens, on standard error'],
        ['`--no-color`', 'no colours; so does `NO_COLOR`'],
      ],
    ),
    ...sections,
  );
  return { path: 'reference/commands.md', text };
}

function commandSection({ call, command }: DocumentedCommand): string {
  const options = command.options.filter(({ hidden }) => !hidden);
  return blocks(
    `### ${call.replace('./', '')}`,
    `${sentence(command.description())}`,
    `\`\`\`text\n${usage(call, command)}\n\`\`\``,
    table(['Argument', 'Meaning'], command.registeredArguments.map(argumentRow)),
    table(['Flag', 'Default', 'Meaning'], options.map(optionRow)),
  );
}

function usage(call: string, command: Command): string {
  const words = command.registeredArguments.map((argument) => {
    const word = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${word}>` : `[${word}]`;
  });
  const needed = command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
  const more = command.options.length > needed.length ? ['[flags]'] : [];
  return [call, ...words, ...needed, ...more].join(' ');
}

function argumentRow(argument: Argument): string[] {
  const { description, required, variadic, argChoices } = argument;
  const facts = [
    required ? 'needed' : null,
    variadic ? 'several may be given' : null,
    argChoices === undefined ? null : `one of ${argChoices.join(', ')}`,
  ].filter((fact) => fact !== null);
  return [code(argument.name()), [plain(description), ...facts].filter((part) => part !== '').join('; ')];
}

function optionRow({ flags, description, mandatory, defaultValue, negate, argChoices }: Option): string[] {
  const preset = mandatory
    ? 'needed'
    : negate || defaultValue === undefined
      ? ''
      : code(String(defaultValue).replace(homedir(), '~'));
  const choices = argChoices === undefined ? '' : `; one of ${argChoices.join(', ')}`;
  return [code(flags), preset, `${plain(description)}${choices}`];
}

function sentence(text: string): string {
  const first = plain(text);
  return first === '' ? '' : `${first[0]!.toUpperCase()}${first.slice(1)}${/[.!?]$/.test(first) ? '' : '.'}`;
}

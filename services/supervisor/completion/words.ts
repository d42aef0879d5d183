import type { Command, Option } from 'commander';

/** What can be typed at one place of a command line. */
export interface Place {
  /** The words of the command before it: `forge issue list`; empty behind the program's name. */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly options: readonly (Word & { readonly value: Value | null })[];
  readonly argument: Value | null;
}

interface Word {
  readonly name: string;
  readonly about: string;
}

/** Runs and files are looked up when they are asked for; other words are known, or none are. */
export type Value = 'runs' | 'files' | readonly string[];

/** Every place of a program, that of the program itself first. */
export function placesOf(program: Command, path: readonly string[] = []): Place[] {
  return placesBelow(program, path, []);
}

function placesBelow(command: Command, path: readonly string[], outer: readonly Option[]): Place[] {
  const options = [...command.options.filter(({ hidden }) => !hidden), ...outer];
  const below = options.filter(({ long }) => long !== '--version');
  const [argument] = command.registeredArguments;
  return [
    {
      path: path.join(' '),
      commands: command.commands.map(wordOf),
      options: [
        ...options.map((option) => ({
          name: option.long ?? option.short!,
          about: option.description,
          value: option.required || option.optional ? completionOf(option.attributeName(), option) : null,
        })),
        { name: '--help', about: 'what it does, and its options', value: null },
      ],
      argument: argument === undefined ? null : completionOf(argument.name(), argument),
    },
    ...command.commands.flatMap((child) => placesBelow(child, [...path, child.name()], below)),
  ];
}

export function wordOf(command: Command): Word {
  return { name: command.name(), about: command.description() };
}

const runNames = /^(?:run|runId|issue)$/;
const fileNames = /^(?:.*[fF]iles?|.*[dD]ir|home|from|target|repositories)$/;

function completionOf(
  name: string,
  { argChoices }: { readonly argChoices?: readonly string[] | undefined },
): Value {
  if (argChoices !== undefined) return argChoices;
  if (runNames.test(name)) return 'runs';
  return fileNames.test(name) ? 'files' : [];
}

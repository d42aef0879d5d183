import { type Argument, Command, type Option } from 'commander';
import { maskedText } from '../redaction/masked-text.ts';

/** Words for what people write freely: its secrets are masked when it is parsed. */
const free: ReadonlySet<string> = new Set(['text', 'words']);

/** Words for values that are used exactly. */
const exact: ReadonlySet<string> = new Set([
  ...['id', 'name', 'names', 'owner/repo', 'repositories', 'role', 'person', 'function', 'session', 'word'],
  ...['action', 'event', 'events', 'issue', 'run', 'cursor', 'list', 'value', 'name=value', 'NAME=VALUE'],
  ...['dir', 'file', 'files', 'folder', 'paths', 'target', 'address', 'url'],
  ...['n', 'number', 'day', 'seconds', 'span', 'time', 'sha256', 'uid:gid'],
  ...['line', 'query', 'request'],
  // Refused with a secret by the planning that they are for.
  ...['task', 'note'],
  // Of commander's own `help [command]`.
  'command',
]);

/**
 * A command each of whose options and arguments says what kind of value it takes, by the word in its flags: `--reason <text>` is
 * masked, `--number <n>` and a choice of words are used exactly. Any other word is an error of the program.
 */
export class CoreCommand extends Command {
  override createCommand(name?: string): CoreCommand {
    return new CoreCommand(name);
  }

  override addOption(option: Option): this {
    if (option.required || option.optional) declare(option, valueWord(option.flags), option.flags);
    return super.addOption(option);
  }

  override addArgument(argument: Argument): this {
    declare(argument, argument.name(), `argument ${argument.name()}`);
    return super.addArgument(argument);
  }
}

/** The word in flags such as `--reason <text>`. */
function valueWord(flags: string): string {
  return /[<[]([^\]>]+?)(?:\.\.\.)?[\]>]/.exec(flags)?.[1] ?? '';
}

/** @throws TypeError for a word that names no kind of values */
function declare(value: Option | Argument, word: string, what: string): void {
  if (value.argChoices !== undefined) return;
  if (free.has(word)) value.argParser(masking(value));
  else if (!exact.has(word))
    throw new TypeError(
      `${what}: '${word}' is not a kind of value; must be one of ${[...free, ...exact].join(', ')}`,
    );
}

/** Parses the masked text as `value` parses it otherwise. The words of an argument are one text, as a secret can be in several of them. */
function masking({ parseArg, variadic }: Option | Argument): (text: string, before: unknown) => unknown {
  let words = '';
  return (text, before) => {
    words = before === undefined || !variadic ? text : `${words} ${text}`;
    const masked = maskedText(words);
    return parseArg === undefined ? masked : parseArg(masked, before);
  };
}

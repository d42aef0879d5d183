import { styleText } from 'node:util';
import type { Symbols } from './display.ts';
import { wrapLine } from './fit-text.ts';
import { promptTheme } from './prompt-theme.ts';

export interface Question {
  readonly message: string;
  /** What Enter alone says. */
  readonly default: boolean;
  readonly symbols: Symbols;
  /** Default standard input and output. */
  readonly input?: NodeJS.ReadableStream;
  readonly output?: NodeJS.WritableStream & { readonly columns?: number };
}

/** Columns of a question's sign, and of the answer. */
const besideMessage = 2 + 4;

/**
 * Asks for yes or no. An answer that is neither is cleared and asked for again: inquirer's own question keeps it, so that the
 * next answer is typed behind it.
 * @throws ExitPromptError after Ctrl-C
 */
export async function confirm({ message, default: usual, symbols, ...streams }: Question): Promise<boolean> {
  const { input } = await import('@inquirer/prompts');
  const hint = styleText('dim', usual ? '(Y/n)' : '(y/N)');
  // A terminal that was never given a size says 0.
  const width = (streams.output?.columns || process.stdout.columns || 80) - besideMessage;
  const answer = await input(
    {
      message,
      validate: (text) => meaningOf(text, usual) !== null || 'answer y or n',
      transformer: (text, { isFinal }) =>
        isFinal ? styleText('cyan', meaningOf(text, usual) === true ? 'Yes' : 'No') : text,
      theme: {
        ...promptTheme(symbols),
        validationFailureMode: 'clear',
        style: {
          message: (text: string, status: string) =>
            wrapLine(`${styleText('bold', text)}${status === 'done' ? '' : ` ${hint}`}`, width).join('\n'),
        },
      },
    },
    streams,
  );
  return meaningOf(answer, usual) ?? usual;
}

function meaningOf(text: string, usual: boolean): boolean | null {
  const word = text.trim().toLowerCase();
  if (word === '') return usual;
  if ('yes'.startsWith(word)) return true;
  return 'no'.startsWith(word) ? false : null;
}

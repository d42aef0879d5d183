import type { Environment } from '../environment.ts';

/** What the place that results go to can show. */
export interface Display {
  /** Columns; Infinity where nothing is to be cut or wrapped: in a pipe or a file. */
  readonly width: number;
  readonly symbols: Symbols;
}

/** The signs that Core itself writes. */
export interface Symbols {
  readonly dot: string;
  readonly minus: string;
  readonly ellipsis: string;
  readonly tick: string;
  readonly cross: string;
  readonly arrow: string;
  readonly bar: string;
  readonly spinner: readonly string[];
  /** A text that was written elsewhere, with these signs in place of others of the same meaning. */
  readonly plain: (text: string) => string;
}

export const unicodeSymbols: Symbols = {
  dot: '·',
  minus: '−',
  ellipsis: '…',
  tick: '✔',
  cross: '✘',
  arrow: '→',
  bar: '│',
  spinner: ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'],
  plain: (text) => text,
};

export const asciiSymbols: Symbols = {
  dot: '-',
  minus: '-',
  ellipsis: '...',
  tick: 'ok',
  cross: 'x',
  arrow: '->',
  bar: '|',
  spinner: ['|', '/', '-', '\\'],
  plain: plainSigns,
};

/** Typography and the signs above in ASCII. Letters stay: a name in other letters would be another name. */
const plainForms: Readonly<Record<string, string>> = {
  '·': '-',
  '−': '-',
  '–': '-',
  '—': '-',
  '…': '...',
  '✔': 'ok',
  '✘': 'x',
  '→': '->',
  '›': '>',
  '│': '|',
  '─': '-',
  '’': "'",
  '‘': "'",
  '“': '"',
  '”': '"',
  '⏎': ' ',
};
const plainable = new RegExp(`[${Object.keys(plainForms).join('')}]`, 'gu');

function plainSigns(text: string): string {
  return text.replace(plainable, (sign) => plainForms[sign]!);
}

export interface Place {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

type Locale = Pick<Environment, 'LANG' | 'TERM'>;

/** @param ascii of `--ascii`; without it the locale decides */
export function symbolsFor(ascii: boolean, { LANG, TERM }: Locale): Symbols {
  const unicode = !ascii && /utf-?8/i.test(LANG ?? '') && TERM !== 'linux';
  return unicode ? unicodeSymbols : asciiSymbols;
}

/** The signs for a program that has not read its options yet, or could not. */
export function symbolsOf(args: readonly string[], environment: Locale): Symbols {
  return symbolsFor(args.includes('--ascii'), environment);
}

/** COLUMNS, where it is exported, counts before what the terminal says, and in a pipe too. */
export function displayOf(
  place: Place,
  ascii: boolean,
  environment: Locale & Pick<Environment, 'COLUMNS'>,
): Display {
  const columns = Number(environment.COLUMNS);
  const own = place.isTTY === true ? (place.columns ?? 80) : Number.POSITIVE_INFINITY;
  return {
    width: Number.isInteger(columns) && columns >= minColumns ? columns : own,
    symbols: symbolsFor(ascii, environment),
  };
}

/** A COLUMNS below it is a mistake. */
const minColumns = 20;

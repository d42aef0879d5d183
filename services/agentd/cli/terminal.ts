import type { Writable } from 'node:stream';
import { createColors } from 'picocolors';

/** Where a command writes, and what that place can show. */
export interface Terminal {
  /** Results. */
  out(text: string | Uint8Array): void;
  /** Progress, warnings and errors. */
  err(text: string): void;
  /** Colours of standard output, and of standard error. */
  readonly paint: Paint;
  readonly paintErr: Paint;
  readonly symbols: Symbols;
  /** Columns of standard output; Infinity where it is no terminal, so that nothing is cut off. */
  readonly width: number;
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  readonly errWidth: number;
  now(): Date;
}

export type Paint = ReturnType<typeof createColors>;

export interface Symbols {
  readonly dot: string;
  readonly minus: string;
  readonly ellipsis: string;
  readonly tick: string;
  readonly cross: string;
  readonly arrow: string;
  readonly spinner: readonly string[];
}

const unicodeSymbols: Symbols = {
  dot: '·',
  minus: '−',
  ellipsis: '…',
  tick: '✔',
  cross: '✘',
  arrow: '→',
  spinner: ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'],
};
const asciiSymbols: Symbols = {
  dot: '-',
  minus: '-',
  ellipsis: '...',
  tick: 'ok',
  cross: 'x',
  arrow: '->',
  spinner: ['|', '/', '-', '\\'],
};

export interface Stream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface TerminalOptions {
  readonly stdout: Stream;
  readonly stderr: Stream;
  /** `false` for `--no-color`. */
  readonly color: boolean;
  readonly environment: {
    readonly NO_COLOR: string | undefined;
    readonly TERM: string | undefined;
    readonly LANG: string | undefined;
  };
  readonly now?: () => Date;
}

export function createTerminal(options: TerminalOptions): Terminal {
  const { stdout, stderr, environment } = options;
  const mayPaint = options.color && (environment.NO_COLOR ?? '') === '' && environment.TERM !== 'dumb';
  const unicode = /utf-?8/i.test(environment.LANG ?? '') && environment.TERM !== 'linux';
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    paint: createColors(mayPaint && stdout.isTTY === true),
    paintErr: createColors(mayPaint && stderr.isTTY === true),
    symbols: unicode ? unicodeSymbols : asciiSymbols,
    width: stdout.isTTY === true ? (stdout.columns ?? 80) : Number.POSITIVE_INFINITY,
    outIsTerminal: stdout.isTTY === true,
    errIsTerminal: stderr.isTTY === true,
    errWidth: stderr.columns ?? 80,
    now: options.now ?? (() => new Date()),
  };
}

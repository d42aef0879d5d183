import type { Writable } from 'node:stream';
import { createColors } from 'picocolors';
import { type Display, displayOf, type Place } from '#kit/cli/display.ts';
import { fitted } from '#kit/cli/fit-text.ts';
import { asNamed, type OwnNames } from '#kit/cli/own-names.ts';
import type { Environment } from '#kit/environment.ts';

/** Where a command writes, and what that place can show. */
export interface Terminal extends Display {
  /** Results. */
  out(text: string | Uint8Array): void;
  /** Notes and warnings, wrapped where the terminal ends. */
  err(text: string): void;
  /** What is laid out already, as progress is. */
  errRaw(text: string): void;
  /** Colours of standard output, and of standard error. */
  readonly paint: Paint;
  readonly paintErr: Paint;
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  /** Columns; Infinity in a pipe or a file. */
  readonly errWidth: number;
  /** A text of Core with its own names as they are here. */
  named(text: string): string;
  now(): Date;
}

export type Paint = ReturnType<typeof createColors>;

export interface Stream extends Writable, Place {}

export interface TerminalOptions {
  readonly stdout: Stream;
  readonly stderr: Stream;
  /** `false` for `--no-color`. */
  readonly color: boolean;
  /** `true` for `--ascii`. */
  readonly ascii: boolean;
  readonly environment: Pick<Environment, 'NO_COLOR' | 'TERM' | 'LANG' | 'COLUMNS'>;
  readonly names?: OwnNames;
  readonly now?: () => Date;
}

export function createTerminal(options: TerminalOptions): Terminal {
  const { stdout, stderr, environment } = options;
  const mayPaint = options.color && (environment.NO_COLOR ?? '') === '' && environment.TERM !== 'dumb';
  const display = displayOf(stdout, options.ascii, environment);
  const errDisplay = displayOf(stderr, options.ascii, environment);
  return {
    ...display,
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(fitted(text, errDisplay)),
    errRaw: (text) => void stderr.write(display.symbols.plain(text)),
    paint: createColors(mayPaint && stdout.isTTY === true),
    paintErr: createColors(mayPaint && stderr.isTTY === true),
    outIsTerminal: stdout.isTTY === true,
    errIsTerminal: stderr.isTTY === true,
    errWidth: errDisplay.width,
    named: (text) => (options.names === undefined ? text : asNamed(text, options.names)),
    now: options.now ?? (() => new Date()),
  };
}

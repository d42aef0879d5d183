import { createRequire } from 'node:module';
import type * as winston from 'winston';
import { CoreError } from './errors.ts';
import type { Redactor } from './redaction/redactor.ts';

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

export interface Logger {
  error(message: string, facts?: Readonly<Record<string, unknown>>): void;
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void;
  info(message: string, facts?: Readonly<Record<string, unknown>>): void;
  debug(message: string, facts?: Readonly<Record<string, unknown>>): void;
  /** The same log with facts on every line, for example a request id. */
  child(facts: Readonly<Record<string, unknown>>): Logger;
}

export interface LoggerOptions {
  readonly service: string;
  readonly level: LogLevel;
  readonly format: 'json' | 'text';
  readonly redactor: Redactor;
  /** Default: standard error. */
  readonly stream?: NodeJS.WritableStream;
}

/** Logs to standard error, one line for each entry; every string passes the redactor. */
export function createLogger(options: LoggerOptions): Logger {
  let log: winston.Logger | undefined;
  return bind(levels.indexOf(options.level), {}, (entry) => {
    log ??= open(options);
    log.log(entry);
  });
}

const require = createRequire(import.meta.url);

/** Winston takes longer to load than many a command runs: it is loaded for the first line. */
function open({ level, format, redactor, service, stream = process.stderr }: LoggerOptions): winston.Logger {
  const { createLogger, format: formats, transports } = require('winston') as typeof winston;
  const line = format === 'json' ? jsonLine : textLine;
  return createLogger({
    level,
    format: formats.printf((entry) => line(entry as unknown as Entry, { service, redactor })),
    transports: [new transports.Stream({ stream })],
    exitOnError: false,
  });
}

type LineOptions = Pick<LoggerOptions, 'service' | 'redactor'>;

interface Entry {
  readonly level: LogLevel;
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

const levels: readonly LogLevel[] = ['error', 'warn', 'info', 'debug'];

/** @param last index in `levels` of the last one that is written */
function bind(last: number, bound: Readonly<Record<string, unknown>>, write: (entry: Entry) => void): Logger {
  const at =
    (level: LogLevel) =>
    (message: string, facts: Readonly<Record<string, unknown>> = {}) => {
      if (levels.indexOf(level) <= last) write({ level, message, facts: { ...bound, ...facts } });
    };
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    child: (facts) => bind(last, { ...bound, ...facts }, write),
  };
}

function jsonLine({ level, message, facts }: Entry, { service, redactor }: LineOptions): string {
  const entry = { at: new Date().toISOString(), level, service, message, ...plainFacts(facts) };
  return JSON.stringify(redactor.redactDeep(entry));
}

function textLine({ level, message, facts }: Entry, { redactor }: LineOptions): string {
  const time = new Date().toISOString().slice(11, 23);
  const rest = Object.entries(plainFacts(facts)).map(([key, value]) => ` ${key}=${inText(value)}`);
  return redactor.redact(`${time} ${level.padEnd(5)} ${oneLine(String(message))}${rest.join('')}`);
}

function inText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? String(value);
  return /^[^\s"=\p{C}]+$/u.test(value) ? value : oneLine(JSON.stringify(value));
}

/** What came from outside cannot begin a line of its own or steer a terminal. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    return character === '\n' ? ' ⏎ ' : `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`;
  });
}

function plainFacts(facts: Entry['facts']): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(facts).map(([key, value]) => [key, value instanceof Error ? plainError(value) : value]),
  );
}

/** Errors in full, with their causes: the log is where a stack belongs. */
function plainError(error: Error): Record<string, unknown> {
  return {
    name: error.name,
    message: error.message,
    ...(error instanceof CoreError ? { code: error.code, facts: error.facts } : { stack: error.stack }),
    ...(error.cause instanceof Error ? { cause: plainError(error.cause) } : {}),
  };
}

/** Says nothing. */
export const silentLogger: Logger = {
  error() {},
  warn() {},
  info() {},
  debug() {},
  child: () => silentLogger,
};

import winston from 'winston';
import { CoreError } from './errors.ts';
import type { Redactor } from './redaction.ts';

/** This module loads winston; import it where a log is written and `import type` elsewhere. */
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
  const logger = winston.createLogger({
    level: options.level,
    format: options.format === 'json' ? jsonLine(options) : textLine(options),
    transports: [new winston.transports.Stream({ stream: options.stream ?? process.stderr })],
    exitOnError: false,
  });
  return wrap(logger, {});
}

const levels: readonly LogLevel[] = ['error', 'warn', 'info', 'debug'];

function wrap(logger: winston.Logger, bound: Readonly<Record<string, unknown>>): Logger {
  const most = levels.indexOf(logger.level as LogLevel);
  const at =
    (level: LogLevel) =>
    (message: string, facts: Readonly<Record<string, unknown>> = {}) => {
      // Winston makes the whole line before it looks whether anybody wants it.
      if (levels.indexOf(level) > most) return;
      logger.log({ level, message, facts: { ...bound, ...facts } });
    };
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    child: (facts) => wrap(logger, { ...bound, ...facts }),
  };
}

function jsonLine({ service, redactor }: LoggerOptions): winston.Logform.Format {
  return winston.format.printf(({ level, message, facts }) => {
    const entry = { at: new Date().toISOString(), level, service, message, ...plainFacts(facts) };
    return JSON.stringify(redactor.redactDeep(entry));
  });
}

function textLine({ redactor }: LoggerOptions): winston.Logform.Format {
  return winston.format.printf(({ level, message, facts }) => {
    const time = new Date().toISOString().slice(11, 23);
    const rest = Object.entries(plainFacts(facts)).map(([key, value]) => ` ${key}=${inText(value)}`);
    return redactor.redact(`${time} ${level.padEnd(5)} ${oneLine(String(message))}${rest.join('')}`);
  });
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

function plainFacts(facts: unknown): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(facts as Record<string, unknown>).map(([key, value]) => [
      key,
      value instanceof Error ? plainError(value) : value,
    ]),
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

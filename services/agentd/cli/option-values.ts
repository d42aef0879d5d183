import { InvalidInput } from '#kit/errors.ts';
import { timeSpanMs } from '#kit/time-span.ts';

/** Decoders of option values. Each message names the value, the rule and the choices. */

export function issueNumber(text: string): number {
  return wholeNumber('--number', text, 1, 2_147_483_647, 'the number of an issue or pull request');
}

export function upTo(text: string): number {
  return wholeNumber('--up-to', text, 1, 1000, 'the number of an action');
}

function wholeNumber(option: string, text: string, min: number, max: number, meaning: string): number {
  const value = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new InvalidInput(
    'invalid_option',
    `${option} '${text}' is not ${meaning}: it must be an integer from ${min} to ${max}`,
  );
}

/** `30d`, `12h`, `2w` or `90m`, in milliseconds. */
export function timeSpan(text: string): number {
  const span = timeSpanMs(text);
  if (span !== null) return span;
  throw new InvalidInput(
    'invalid_option',
    `--older-than '${text}' is not a time span: it must be a number and one of m, h, d, w; for example 30d`,
  );
}

export function notEmpty(option: string) {
  return (text: string): string => {
    if (text.trim() !== '') return text;
    throw new InvalidInput('invalid_option', `${option} '${text}' must be a text that is not empty`);
  };
}

import { InvalidInput } from '#kit/errors.ts';

/** An option that is a whole number in decimal digits; undefined where it was left out. */
export function wholeNumber(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidInput('invalid_option', `${option} is ${JSON.stringify(text)}: must be a whole number`);
}

/** For options that can be given several times. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/** `name=value`; the value is JSON where it can be read as that, else a text. */
export function namedValue(option: string, text: string): [string, unknown] {
  const at = text.indexOf('=');
  const name = text.slice(0, at);
  if (at < 1 || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw new InvalidInput(
      'invalid_option',
      `${option} is ${JSON.stringify(text)}: must be name=value, for example limit=3`,
    );
  }
  const value = text.slice(at + 1);
  try {
    return [name, JSON.parse(value)];
  } catch {
    return [name, value];
  }
}

import { InvalidInput } from '#kit/errors.ts';

/** `run_` and a UUIDv7: sorting by name is sorting by time of creation. */
const pattern = /^run_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export function isRunId(text: string): boolean {
  return pattern.test(text);
}

/** Guards every path that is made from a run id. */
export function checkRunId(text: string): string {
  if (isRunId(text)) return text;
  throw new InvalidInput(
    'invalid_run_id',
    `run id ${shown(text)} is not run_ and a UUIDv7; ./core runs lists them`,
  );
}

/** What a person typed, as the beginning of a run id: lower case, with `run_`. */
export function runIdPrefix(text: string): string {
  const prefix = text.trim().toLowerCase().replace(/^run_/, '');
  if (/^[0-9a-f][0-9a-f-]{0,35}$/.test(prefix)) return `run_${prefix}`;
  throw new InvalidInput(
    'invalid_run_id',
    `run ${shown(text)} is not the beginning of a run id; for example run_0199f3c2`,
  );
}

function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text);
}

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failed } from '#kit/errors.ts';
import type { OpenCall } from './call-rows.ts';

/** The version before kept calls under way in such files beside the ledger. */
const partName = /^open-calls-(\d{1,12})\.jsonl$/;

export interface FoundOpenCalls {
  readonly calls: readonly OpenCall[];
  readonly paths: readonly string[];
}

/** What the end of an earlier version left, a line for each call that began. Of a line without its end the call was never made. @throws Failed (`ledger_damaged`) */
export function findOpenCalls(folder: string): FoundOpenCalls {
  const numbers = readdirSync(folder)
    .flatMap((name) => partName.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
  const paths = numbers.map((number) => join(folder, `open-calls-${number}.jsonl`));
  // Of a call that is there twice, more was set aside later.
  const calls = new Map(paths.flatMap(callsIn).map((call) => [call.id, call]));
  return { calls: [...calls.values()], paths };
}

function callsIn(path: string): OpenCall[] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line, index) => {
    const call = callOf(line);
    if (call !== null) return call;
    throw new Failed('ledger_damaged', `${path} is damaged: line ${index + 1} is no call`, {
      facts: { path },
      hint: 'Move it away; the calls that are in it are then not counted.',
    });
  });
}

function callOf(line: string): OpenCall | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (!Array.isArray(value)) return null;
  const [id, key, run, model, upstream, inputTokens, outputTokens, reserved] = value;
  const texts = [key, run ?? '', model, upstream].every((one) => typeof one === 'string');
  const numbers = [id, inputTokens, outputTokens, reserved].every((one) => Number.isSafeInteger(one));
  if (!texts || !numbers) return null;
  const account = { key, run, models: null, budget: null };
  return { id, account, model, upstream, inputTokens, outputTokens, reserved };
}

import { readFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import * as t from 'io-ts';
import { decodeJson, nullable, oneOf } from '#kit/decode.ts';
import { digestOf } from '#kit/digest.ts';
import { writeFileDurably } from '#kit/durable-file.ts';
import { codeOf, InvalidInput } from '#kit/errors.ts';
import { makeSpreadFolder } from '#kit/spread-folder.ts';
import type { SandboxTerms, ValidationPlan } from '../action.ts';
import type { ValidationStep } from './steps.ts';

const StoredSteps = t.array(
  t.strict({
    phase: oneOf(['run']),
    name: t.string,
    run: t.string,
    exit_code: nullable(t.number),
    ended_by: oneOf(['exit', 'signal', 'timeout', 'memory', 'cancelled']),
    duration_ms: t.number,
    truncated: t.boolean,
    /** Base64. */
    log: t.string,
  }),
);

export interface BaseRun {
  /** Tree of the base commit. */
  readonly tree: string;
  readonly plan: ValidationPlan;
  readonly terms: SandboxTerms;
}

/**
 * What the commands of a plan say on its base, from the files below `folder` or run now. A result holds for the same tree, plan,
 * tools and variables; one that a limit ended is not kept.
 */
export async function baseResults(
  folder: string,
  { tree, plan, terms }: BaseRun,
  run: () => Promise<ValidationStep[]>,
): Promise<ValidationStep[]> {
  const { found: _, source: __, covers: ___, without_tests: ____, ...what } = plan;
  const tools = [process.version, process.platform, process.arch, terms.kind, ...terms.tool_paths];
  const environment = plan.prepare_network ? terms.prepare_environment : {};
  const path = join(folder, `${digestOf({ tree, plan: what, tools, environment })}.json`);
  const kept = await readKept(path);
  if (kept !== null) return kept;
  const steps = await run();
  if (steps.some(({ ended_by }) => ended_by !== 'exit' && ended_by !== 'signal')) return steps;
  await makeSpreadFolder(folder);
  const stored = steps.map((step) => ({ ...step, log: Buffer.from(step.log).toString('base64') }));
  writeFileDurably(path, JSON.stringify(stored));
  return steps;
}

async function readKept(path: string): Promise<ValidationStep[] | null> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    return null;
  }
  try {
    const steps = decodeJson(StoredSteps, text, path);
    await utimes(path, new Date(), new Date());
    return steps.map((step) => ({ ...step, log: Buffer.from(step.log, 'base64') }));
  } catch (error) {
    // A damaged file is written again.
    if (error instanceof InvalidInput) return null;
    throw error;
  }
}

import type { Command } from 'commander';
import type { ProgramStart } from '#kit/cli/program.ts';
import { ownVersion } from '#kit/program.ts';
import type { MoveOptions, MovePart } from '#kit/storage-move/part.ts';

/** Programs other than core-agentd that `./core WORD` starts, with the folder of each. */
export const services: ReadonlyMap<string, string> = new Map([
  ['context', 'context'],
  ['model', 'model-gateway'],
  ['bus', 'bus-engine'],
  ['worker', 'bus-worker'],
  ['bridge', 'bridge'],
  ['status', 'status'],
  ['tui', 'terminal'],
]);

/** Other services are started by their files, never imported as modules of this one. */
export async function startService(service: string, start: Omit<ProgramStart, 'version'>): Promise<number> {
  const { main } = await import(new URL(`../${service}/main.ts`, import.meta.url).href);
  return main({ ...start, version: ownVersion() } satisfies ProgramStart);
}

/** The commands of a service, none of which is run. */
export async function declaredBy(service: string): Promise<Command> {
  let found: Command | null = null;
  const declared = (program: Command) => {
    found = program;
  };
  await startService(service, { args: [], program: `core-${service}`, declared });
  if (found === null) throw new Error(`services/${service}/main.ts does not declare its commands`);
  return found;
}

/** Kinds of records that a service keeps, held for a move of the storage until they are closed. */
export async function openMoveParts(service: string, options: MoveOptions): Promise<MovePart[]> {
  const { openMoveParts: open } = await import(
    new URL(`../${service}/move-storage.ts`, import.meta.url).href
  );
  return open(options);
}

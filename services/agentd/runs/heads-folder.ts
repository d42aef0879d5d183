import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isRunId } from './run-id.ts';

export const headsName = 'heads';

/** Every run that was ever made or written to since heads are kept, pruned ones too. */
export function runsWithHead(stateDir: string): string[] {
  const folder = join(stateDir, headsName);
  return existsSync(folder) ? readdirSync(folder).filter(isRunId) : [];
}

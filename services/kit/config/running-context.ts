import type { Folders } from '../folders.ts';
import { announceService, type RunningAddress, runningService } from './running-service.ts';

export type { RunningAddress } from './running-service.ts';

/** Others find this process there until `withdraw` is called or it ends, however it ends. */
export function announceContext(
  folders: Pick<Folders, 'state'>,
  address: Pick<RunningAddress, 'url' | 'host' | 'port'>,
): { withdraw(): void } {
  return announceService(folders, 'context', address);
}

/** null where none runs as far as this process can see, and where `state` is left out. */
export function runningContext(folders: Partial<Pick<Folders, 'state'>>): RunningAddress | null {
  return runningService(folders, 'context');
}

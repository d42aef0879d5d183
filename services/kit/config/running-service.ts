import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as t from 'io-ts';
import { LeaseHolder } from '../contracts/lease-holder.ts';
import { decodeJson } from '../decode.ts';
import { makePrivateFolder, replaceNote } from '../durable-file.ts';
import type { Folders } from '../folders.ts';
import { readSmallFile } from '../small-file.ts';
import { isRunning, thisProcess } from '../storage/process-identity.ts';
import { Hostname, HttpUrl } from './address.ts';

const Note = t.strict({
  url: HttpUrl,
  host: Hostname,
  port: t.number,
  holder: LeaseHolder,
});

/** The folder of a service below the state folder. */
const folderOf = {
  'core-agentd': 'agentd',
  'core-context': 'context',
  'core-model-gateway': 'model-gateway',
  'core-bridge': 'bridge',
  'core-bus-engine': 'bus',
  'core-bus-worker': 'bus-worker',
} as const;
export type ServiceName = keyof typeof folderOf;

/** Where a service of this state folder listens. */
export interface RunningAddress {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** The file that says so. */
  readonly where: string;
}

type State = Partial<Pick<Folders, 'state'>>;

/** Others find this process there until `withdraw` is called or it ends, however it ends. */
export function announceService(
  service: ServiceName,
  { state }: Pick<Folders, 'state'>,
  address: Pick<RunningAddress, 'url' | 'host' | 'port'>,
): { withdraw(): void } {
  const path = pathIn(state, service);
  makePrivateFolder(dirname(path));
  replaceNote(path, `${JSON.stringify({ ...address, holder: thisProcess() })}\n`);
  return {
    withdraw() {
      if (isOwn(path)) rmSync(path, { force: true });
    },
  };
}

/** Not of one that was started beside this process meanwhile. */
function isOwn(path: string): boolean {
  try {
    const { pid, process_started } = decodeJson(Note, readSmallFile(path), path).holder;
    const own = thisProcess();
    return pid === own.pid && process_started === own.process_started;
  } catch {
    return false;
  }
}

/** null where none runs as far as this process can see, and where `state` is left out. */
export function runningService(service: ServiceName, { state }: State): RunningAddress | null {
  if (state === undefined) return null;
  const where = pathIn(state, service);
  try {
    const { url, host, port, holder } = decodeJson(Note, readSmallFile(where), where);
    return isRunning(holder) === true ? { url, host, port, where } : null;
  } catch {
    return null;
  }
}

function pathIn(state: string, service: ServiceName): string {
  return join(state, folderOf[service], 'listening.json');
}

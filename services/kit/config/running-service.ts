import { readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as t from 'io-ts';
import { decodeJson } from '../decode.ts';
import { makePrivateFolder, writeFileDurably } from '../durable-file.ts';
import type { Folders } from '../folders.ts';
import { isRunning, thisProcess } from '../sqlite-lease-holder.ts';
import { Hostname, HttpUrl } from './address-codecs.ts';

const RunningService = t.strict({
  url: HttpUrl,
  host: Hostname,
  port: t.number,
  holder: t.strict({
    boot_id: t.string,
    pid_namespace: t.string,
    pid: t.number,
    process_started: t.string,
    host: t.string,
  }),
});

/** Where a service of this state folder listens. */
export interface RunningAddress {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** The file that says so. */
  readonly where: string;
}

type State = Partial<Pick<Folders, 'state'>>;
/** Of a service, in the state folder. */
type ServiceFolder = 'context' | 'model-gateway';

/** Others find this process there until `withdraw` is called or it ends, however it ends. */
export function announceService(
  { state }: Pick<Folders, 'state'>,
  folder: ServiceFolder,
  address: Pick<RunningAddress, 'url' | 'host' | 'port'>,
): { withdraw(): void } {
  const path = pathIn(state, folder);
  makePrivateFolder(dirname(path));
  writeFileDurably(path, `${JSON.stringify({ ...address, holder: thisProcess() })}\n`);
  return {
    withdraw() {
      rmSync(path, { force: true });
    },
  };
}

/** null where none runs as far as this process can see, and where `state` is left out. */
export function runningService({ state }: State, folder: ServiceFolder): RunningAddress | null {
  if (state === undefined) return null;
  const where = pathIn(state, folder);
  try {
    const { url, host, port, holder } = decodeJson(RunningService, readFileSync(where, 'utf8'), where);
    return isRunning(holder) === true ? { url, host, port, where } : null;
  } catch {
    return null;
  }
}

function pathIn(state: string, folder: ServiceFolder): string {
  return join(state, folder, 'listening.json');
}

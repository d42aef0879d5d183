import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { Health } from '#kit/contracts/health.ts';
import { decodeJson } from '#kit/decode.ts';
import { urlHost } from '#kit/http/url-of.ts';

/** Who answers at an address. */
export type PortHolder =
  | { readonly kind: 'nobody' }
  | { readonly kind: 'core'; readonly health: Health }
  | { readonly kind: 'other'; readonly process: string | null };

/** Asks the port, and on Linux the system, who it is. */
export async function whoAnswers(host: string, port: number): Promise<PortHolder> {
  if (port === 0 || !(await connects(host, port))) return { kind: 'nobody' };
  try {
    const answer = await fetch(`http://${urlHost(host)}:${port}/healthz`, {
      signal: AbortSignal.timeout(2_000),
    });
    return { kind: 'core', health: decodeJson(Health, await answer.text(), 'health') };
  } catch {
    return { kind: 'other', process: processListening(port) };
  }
}

export function describeHolder(holder: Exclude<PortHolder, { kind: 'nobody' }>): string {
  if (holder.kind === 'core')
    return `${holder.health.service} ${holder.health.version} (${holder.health.status})`;
  return holder.process ?? 'a program that is not Core';
}

function connects(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: urlHost(host).replace(/^\[|\]$/g, ''), port, timeout: 1_000 });
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });
}

/** Name and pid by `/proc`; null where that is not to be had. */
function processListening(port: number): string | null {
  try {
    const sockets = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) => listeningSockets(table, port));
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      if (holdsSocket(pid, sockets))
        return `${readFileSync(`/proc/${pid}/comm`, 'utf8').trim()} (pid ${pid})`;
    }
  } catch {
    return null;
  }
  return null;
}

/** Inodes of the sockets that listen on a port; state 0A is LISTEN in proc_net_tcp(5). */
function listeningSockets(table: string, port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return readFileSync(table, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(`:${hex}`) && fields[3] === '0A')
    .map((fields) => `socket:[${fields[9]}]`);
}

function holdsSocket(pid: string, sockets: readonly string[]): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) =>
      sockets.includes(readlinkSync(`/proc/${pid}/fd/${fd}`)),
    );
  } catch {
    return false;
  }
}

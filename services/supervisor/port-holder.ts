import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { guarded } from '#kit/callbacks.ts';
import { urlHost, urlOf } from '#kit/config/address.ts';
import { Health } from '#kit/contracts/health.ts';
import { decodeJson } from '#kit/decode.ts';
import { codeOf } from '#kit/errors.ts';
import { exchange, openAgent, TooLate } from '#kit/http/exchange.ts';

/** Who answers at an address. `silent` is somebody who did not in time: busy, or halted. */
export type PortHolder =
  | { readonly kind: 'nobody' }
  | { readonly kind: 'core'; readonly health: Health }
  | { readonly kind: 'other'; readonly process: string | null }
  | { readonly kind: 'silent'; readonly process: string | null; readonly withinMs: number };

/**
 * Asks the port, and on Linux the system, who it is.
 * @param withinMs milliseconds for a connection, and for an answer
 */
export async function whoAnswers(host: string, port: number, withinMs: number): Promise<PortHolder> {
  if (port === 0) return { kind: 'nobody' };
  const holder = await whoAnswersAt(urlOf({ host, port, tls: false }), withinMs);
  const isNamed = holder.kind === 'core' || holder.kind === 'nobody';
  return isNamed ? holder : { ...holder, process: processListening(port) };
}

/** Who answers at an address that may be on another machine. */
export async function whoAnswersAt(url: string, withinMs: number): Promise<PortHolder> {
  const { hostname, port, protocol } = new URL(url);
  // Cheaper than a request where nobody is.
  const reached = await connects(hostname, Number(port || (protocol === 'https:' ? 443 : 80)), withinMs);
  if (reached === 'nobody') return { kind: 'nobody' };
  const answer = reached === 'late' ? reached : await askHealth(url, withinMs);
  if (answer === 'late') return { kind: 'silent', process: null, withinMs };
  try {
    return { kind: 'core', health: decodeJson(Health, answer ?? '', 'health') };
  } catch {
    return { kind: 'other', process: null };
  }
}

/** The same for a port that is to be taken: free is only what can be. Not for one that a service is about to take. */
export async function holderOf(host: string, port: number, withinMs: number): Promise<PortHolder> {
  const holder = await whoAnswers(host, port, withinMs);
  if (holder.kind !== 'nobody' || port === 0 || (await canBeTaken(host, port))) return holder;
  return { kind: 'other', process: processListening(port) };
}

export function describeHolder(holder: Exclude<PortHolder, { kind: 'nobody' }>): string {
  if (holder.kind === 'core')
    return `${holder.health.service} ${holder.health.version} (${holder.health.status})`;
  if (holder.kind === 'silent')
    return `${holder.process ?? 'a program'}, which did not answer within ${holder.withinMs / 1000} s`;
  return holder.process ?? 'a program that is not Core';
}

/** Whether somebody accepts connections there; `late`: not in time, which a busy or halted program does as well. */
export function connects(
  host: string,
  port: number,
  withinMs: number,
): Promise<'somebody' | 'nobody' | 'late'> {
  return new Promise((resolve) => {
    const socket = connect({ host: bareHost(host), port, timeout: withinMs });
    const end = (answer: 'somebody' | 'nobody' | 'late') => {
      socket.destroy();
      resolve(answer);
    };
    socket.once(
      'connect',
      guarded('the holder of a port', () => end('somebody')),
    );
    socket.once(
      'timeout',
      guarded('the holder of a port', () => end('late')),
    );
    socket.once(
      'error',
      guarded('the holder of a port', (error) => end(codeOf(error) === 'ETIMEDOUT' ? 'late' : 'nobody')),
    );
  });
}

/** Whether nothing is bound there; an address that is not of this machine is nobody's here. */
function canBeTaken(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(codeOf(error) !== 'EADDRINUSE'));
    server.listen({ host: bareHost(host), port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** What `/healthz` answers; null where a connection brings no answer. */
async function askHealth(base: string, withinMs: number): Promise<string | null | 'late'> {
  const url = new URL(`${base}/healthz`);
  const signal = AbortSignal.timeout(withinMs);
  const agent = openAgent(url.href);
  try {
    const answer = await exchange(url, { method: 'GET', headers: {}, idleMs: withinMs, signal, agent });
    return await text(answer);
  } catch (error) {
    return signal.aborted || error instanceof TooLate ? 'late' : null;
  } finally {
    agent.destroy();
  }
}

function bareHost(host: string): string {
  return urlHost(host).replace(/^\[|\]$/g, '');
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

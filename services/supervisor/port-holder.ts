import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { Health } from '#kit/contracts/health.ts';
import { decodeJson } from '#kit/decode.ts';
import { urlHost } from '#kit/http/url-of.ts';

const connectMs = 1_000;
const answerMs = 2_000;

/** Who answers at an address. */
export type PortHolder =
  | { readonly kind: 'nobody' }
  | { readonly kind: 'core'; readonly health: Health }
  | { readonly kind: 'other'; readonly process: string | null };

/** Asks the port, and on Linux the system, who it is. */
export async function whoAnswers(host: string, port: number): Promise<PortHolder> {
  // Cheaper than a request where nobody is.
  if (port === 0 || !(await connects(host, port))) return { kind: 'nobody' };
  const answer = await askHealth(host, port);
  if (answer === 'nobody') return { kind: 'nobody' };
  try {
    return { kind: 'core', health: decodeJson(Health, answer ?? '', 'health') };
  } catch {
    return { kind: 'other', process: processListening(port) };
  }
}

export function describeHolder(holder: Exclude<PortHolder, { kind: 'nobody' }>): string {
  if (holder.kind === 'core')
    return `${holder.health.service} ${holder.health.version} (${holder.health.status})`;
  return holder.process ?? 'a program that is not Core';
}

/** Whether somebody accepts connections there. */
export function connects(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: bareHost(host), port, timeout: connectMs });
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });
}

/** What `/healthz` answers, null where a connection brings no answer, `nobody` without a connection. */
async function askHealth(host: string, port: number): Promise<string | null | 'nobody'> {
  // Loaded where somebody may answer: what is started first starts sooner.
  const { request } = await import('#kit/http/node-http.ts');
  return new Promise((resolve) => {
    let connected = false;
    const asked = request(
      { host: bareHost(host), port, path: '/healthz', agent: false, timeout: connectMs },
      (answer) => {
        const parts: Buffer[] = [];
        answer.on('data', (part: Buffer) => parts.push(part));
        answer.once('close', () => end(answer.complete ? Buffer.concat(parts).toString('utf8') : null));
      },
    );
    const limit = setTimeout(() => end(connected ? null : 'nobody'), answerMs);
    const end = (answer: string | null | 'nobody') => {
      clearTimeout(limit);
      asked.destroy();
      resolve(answer);
    };
    asked.once('socket', (socket) => {
      socket.once('connect', () => {
        connected = true;
        socket.setTimeout(0);
      });
    });
    asked.on('timeout', () => end(connected ? null : 'nobody'));
    asked.on('error', () => end(connected ? null : 'nobody'));
    asked.end();
  });
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

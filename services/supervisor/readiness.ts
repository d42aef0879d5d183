import { setTimeout } from 'node:timers/promises';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { urlOf } from '#kit/config/url-of.ts';
import type { Health } from '#kit/contracts/health.ts';
import type { SupervisedNote } from '#kit/contracts/stack-note.ts';
import type { EmbeddedService, ServicePort } from './embedded-services.ts';
import { connects, whoAnswers } from './port-holder.ts';
import type { SupervisedService } from './supervised-service.ts';

/** Milliseconds after which a service that says nothing is asked all the same, and until nobody asks any more. */
const askEveryMs = 2_000;
export const answerWithinMs = 60_000;

/** Where a service answers, and how it is, in a few words. */
export interface Readiness {
  readonly where: string;
  readonly status: string;
  readonly answers: boolean;
}

/** Resolves when the service does what others need of it, and with why not when that does not come. */
export async function waitUntilReady(
  service: EmbeddedService,
  process: Pick<SupervisedService, 'word' | 'note'>,
  signal: AbortSignal,
): Promise<Readiness> {
  const where = whereOf(service);
  const deadline = performance.now() + answerWithinMs;
  while (performance.now() < deadline && !signal.aborted) {
    await wordOrTime(process, signal);
    const status = await answerOf(service, process.note);
    if (status !== null) return { where, status, answers: true };
  }
  const status = signal.aborted
    ? 'ending'
    : `does not answer after ${answerWithinMs / 1000} s; see its log above`;
  return { where, status, answers: false };
}

async function wordOrTime({ word }: Pick<SupervisedService, 'word'>, signal: AbortSignal): Promise<void> {
  const heard = new AbortController();
  const time = setTimeout(askEveryMs, undefined, { signal: AbortSignal.any([signal, heard.signal]) });
  await Promise.race([word, time.catch(() => {})]);
  heard.abort();
}

/** How it answers, in a few words; null while it does not. */
async function answerOf(
  { http, socket }: EmbeddedService,
  { bus_connected }: SupervisedNote,
): Promise<string | null> {
  if (http === null) return bus_connected === true ? 'connected to the bus' : null;
  // The engine's health is told beside its websocket; the other interface has what triggers define.
  if (socket === null) return healthOf(http);
  const [health, triggers] = await Promise.all([
    healthOf(socket),
    connects(http.host, http.port, answerWithinMs),
  ]);
  return triggers === 'somebody' ? health : null;
}

async function healthOf({ host, port, tls }: ServicePort): Promise<string | null> {
  const holder = await whoAnswers(host, port, answerWithinMs);
  if (holder.kind === 'core') return statusOf(holder.health);
  // Its certificate is for its clients; that it accepts connections is enough here.
  return tls && holder.kind === 'other' ? 'listens' : null;
}

export function whereOf({ http, socket }: Pick<EmbeddedService, 'http' | 'socket'>): string {
  const places = [
    ...(socket === null ? [] : [urlOf(socket).replace(/^http/, 'ws')]),
    ...(http === null ? [] : [urlOf(http)]),
  ];
  return places.join('  ');
}

/** With the reason, where it is not well. */
function statusOf({ status, checks }: Health): string {
  const why = Object.values(checks).find((check) => check.status !== 'ok')?.detail;
  return status === 'ok' || why === undefined ? status : `${status}: ${visibleLine(why)}`;
}

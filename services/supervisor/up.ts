import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { guarded } from '#kit/callbacks.ts';
import { type Display, displayOf, type Place } from '#kit/cli/display.ts';
import { labelledCommand } from '#kit/cli/fit-text.ts';
import { printText } from '#kit/cli/output.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { urlOf } from '#kit/config/address.ts';
import { answerMs } from '#kit/config/settings.ts';
import type { Health } from '#kit/contracts/health.ts';
import { type SupervisedNote, stackFolder } from '#kit/contracts/stack-note.ts';
import { environment } from '#kit/environment.ts';
import { Failed, messageOf } from '#kit/errors.ts';
import { prepareFolder, resolveFolders } from '#kit/folders.ts';
import { isLoopback } from '#kit/http/authentication.ts';
import { shellWord } from '#kit/shell-word.ts';
import { Shutdown } from '#kit/shutdown.ts';
import { holdFolder } from '#kit/storage/lock.ts';
import {
  type EmbeddedService,
  embeddedStack,
  type ServicePort,
  type StackFlags,
  withFreePorts,
} from './embedded-services.ts';
import { connects, describeHolder, holderOf, whoAnswers } from './port-holder.ts';
import { StackNoteFile, SupervisedService } from './supervised-service.ts';

export interface UpOptions extends StackFlags {
  readonly home?: string | undefined;
  /** How people call `./core`, for what is suggested. */
  readonly program?: string;
  readonly display?: Display;
  /** A text of Core with its own names as they are here. */
  readonly named?: (text: string) => string;
  readonly stdout?: NodeJS.WritableStream;
  readonly stderr?: NodeJS.WritableStream;
}

/** Milliseconds that services get to end in order; with what is around it, all is gone within 3 s. */
const stopMs = 2_300;
/** Of these, until the engine ends too, whoever has not ended yet. */
const engineWaitsMs = 1_500;

/**
 * `core up`: every service in a process of its own, until a signal comes. Logs go to standard error, each line with the name
 * of its service.
 * @throws Conflict (`stack_held`) naming who has this state folder, Failed (`port_in_use`) naming who answers there
 */
export async function up(options: UpOptions): Promise<number> {
  const { stdout = process.stdout, stderr = process.stderr, program = './core' } = options;
  const folders = resolveFolders({ home: options.home }, environment);
  const flags = await withFreePorts(options);
  const { services: embedded, left, behind } = embeddedStack(folders, flags, environment);
  prepareFolder(folders.state, 'state');
  prepareFolder(folders.config, 'config');
  const folder = join(folders.state, stackFolder);
  const hold = holdFolder(folder, { code: 'stack_held', name: 'the stack' });
  const withinMs = answerMs({ folders, environment });
  const checks = await Promise.allSettled(
    embedded.flatMap(({ name, socket, http }) =>
      [socket, http].flatMap((place) =>
        place === null ? [] : [checkPort(name, place, { program, withinMs })],
      ),
    ),
  );
  const taken = checks.filter((check) => check.status === 'rejected').map(({ reason }) => reason);
  if (taken.length > 0) {
    hold.release();
    throw taken.length === 1 ? taken[0] : allTaken(taken, program);
  }

  const { display = displayOf(stdout as Place, false, environment), named = (text: string) => text } =
    options;
  const print = (text: string) => printText(named(text), display, stdout);
  const { bar } = display.symbols;
  const warn = (text: string) => void stderr.write(`core up ${bar} ${text}\n`);
  const width = Math.max(...embedded.map(({ name }) => name.length));
  const services = embedded.map((definition) => {
    const prefix = `${definition.name.padEnd(width)} ${bar} `;
    return new SupervisedService(definition, {
      line: (text) => void stderr.write(`${prefix}${text}\n`),
      ended: (why, again) =>
        warn(
          `${definition.name} ended: ${why}; ${again === null ? 'not started again' : `again in ${again / 1000} s`}`,
        ),
      changed: () => note.changed(),
    });
  });
  const note = new StackNoteFile({ folder, services, left, warn });

  const shutdown = new Shutdown({ deadlineMs: stopMs + 400, warn });
  const killAll = guarded('core up', () => {
    for (const service of services) service.kill();
  });
  process.once('exit', killAll);
  const signalled = new Promise<number>((resolve) => {
    shutdown.listen((code) => {
      killAll();
      resolve(code);
    });
  });
  shutdown.add('the hold of the state folder', () => hold.release());
  shutdown.add('the note of the stack', () => note.withdraw());
  shutdown.add('the services', () => stopAll(services));
  for (const service of services) service.start();

  const ready = embedded.map(async (service, index) => {
    const supervised = services[index]!;
    const readiness = await waitUntilReady(service, supervised, shutdown.signal);
    if (readiness.answers) supervised.answered();
    return readiness;
  });
  const gaveUp = Promise.race(services.map(({ gaveUp }) => gaveUp));
  const shown = show(embedded, ready, { width, print, signal: shutdown.signal }).then((whole) => {
    if (!whole) return;
    const reasons = [
      ...left.map(({ name, why }) => `${name} is not started: ${why}\n`),
      ...behind.map(({ name, url, where }) => `${name} is asked at ${url} (${where})\n`),
    ].join('');
    const last = lastLines(folders.state, { program, home: options.home, width: display.width });
    print(`${reasons}\n${last}`);
  });
  const exitCode = await Promise.race([gaveUp, signalled]);
  await shutdown.close('up ends');
  await shown;
  process.off('exit', killAll);
  return exitCode;
}

/** The engine last, so that nobody looks for a new connection to it meanwhile. */
async function stopAll(services: readonly SupervisedService[]): Promise<void> {
  const engine = services.find(({ name }) => name === 'core-bus-engine');
  const others = services.filter((service) => service !== engine).map((service) => service.stop(stopMs));
  const waiting = setTimeout(
    guarded('core up', () => engine?.stop(stopMs - engineWaitsMs)),
    engineWaitsMs,
  );
  await Promise.all(others);
  clearTimeout(waiting);
  await engine?.stop(stopMs - engineWaitsMs);
}

/** A line per service in their order, each as soon as it and those before it answer; false when the end came first. */
async function show(
  embedded: readonly EmbeddedService[],
  ready: readonly Promise<Readiness>[],
  {
    width,
    print,
    signal,
  }: { readonly width: number; readonly print: (text: string) => void; readonly signal: AbortSignal },
): Promise<boolean> {
  for (const [index, { name, http, socket }] of embedded.entries()) {
    const { where, status } = await ready[index]!;
    const open = [http, socket].find((place) => place != null && !isLoopback(place.host));
    if (signal.aborted) return false;
    print(
      `${name.padEnd(width)}  ${where}${where === '' ? '' : '  '}${status}${open == null ? '' : `, open at ${open.host} beyond this machine`}\n`,
    );
  }
  return true;
}

function lastLines(
  state: string,
  {
    program,
    home,
    width,
  }: { readonly program: string; readonly home: string | undefined; readonly width: number },
): string {
  const elsewhere = home === undefined ? '' : ` --home ${shellWord(home)}`;
  const command = (label: string, words: string) =>
    labelledCommand(label, `${program} ${words}${elsewhere}`, width);
  const lines = [
    `state  ${state}`,
    ...command('next   ', "plan 'OWNER/REPO#N'"),
    ...command('look   ', 'status'),
    ...command('page   ', 'review'),
    'end    Ctrl-C',
  ];
  return `${lines.join('\n')}\n`;
}

function allTaken(reasons: readonly unknown[], program: string): unknown {
  if (!reasons.every((reason) => reason instanceof Failed))
    return reasons.find((reason) => !(reason instanceof Failed));
  return new Failed('port_in_use', reasons.map(messageOf).join('; '), {
    facts: { ports: reasons.map(({ facts }) => facts?.port).join(', ') },
    hint: `Beside another stack: ${program} up --home DIR with the six port flags of ${program} up --help; 0 takes a free port.`,
  });
}

async function checkPort(
  name: string,
  { host, port, otherPort }: ServicePort,
  { program, withinMs }: { readonly program: string; readonly withinMs: number },
): Promise<void> {
  const holder = await holderOf(host, port, withinMs);
  if (holder.kind === 'nobody') return;
  const hint =
    holder.kind === 'core'
      ? `It may be yours: look with ${program} doctor, or end it and start again. Another port: ${otherPort}.`
      : `End it, or take another port: ${otherPort}.`;
  throw new Failed(
    'port_in_use',
    `port ${port} on ${host}, which ${name} needs, is used by ${describeHolder(holder)}`,
    { facts: { host, port }, hint },
  );
}

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
  const time = pause(askEveryMs, undefined, { signal: AbortSignal.any([signal, heard.signal]) });
  await Promise.race([word, time.catch(() => {})]);
  heard.abort();
}

/** How it answers, in a few words; null while it does not. */
async function answerOf(
  { http, socket }: EmbeddedService,
  { bus_connected }: SupervisedNote,
): Promise<string | null> {
  if (http === null) return bus_connected === true ? 'connected to the bus' : null;
  // The engine's health is answered beside its websocket; the other interface has what triggers define.
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

/** With the reason, where it is not well, and with who is active, where that is another. */
function statusOf({ status, checks }: Health): string {
  const why =
    status === 'standby' ? checks.active : Object.values(checks).find((check) => check.status !== 'ok');
  return status === 'ok' || why === undefined ? status : `${status}: ${visibleLine(why.detail)}`;
}

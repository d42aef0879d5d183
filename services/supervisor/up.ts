import { setTimeout } from 'node:timers/promises';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { Health } from '#kit/contracts/health.ts';
import { environment } from '#kit/environment.ts';
import { Failed } from '#kit/errors.ts';
import { prepareFolder, resolveFolders } from '#kit/folders.ts';
import { urlOf } from '#kit/http/url-of.ts';
import { Shutdown } from '#kit/shutdown.ts';
import { type EmbeddedService, embeddedStack } from './embedded-services.ts';
import { describeHolder, whoAnswers } from './port-holder.ts';
import { SupervisedService } from './supervised-service.ts';

export interface UpOptions {
  readonly home?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: string | number | undefined;
  readonly contextPort?: string | number | undefined;
  readonly modelsPort?: string | number | undefined;
  /** How people call `./core`, for what is suggested. */
  readonly program?: string;
  readonly stdout?: NodeJS.WritableStream;
  readonly stderr?: NodeJS.WritableStream;
}

const startMs = 30_000;
const stopMs = 25_000;

/**
 * `core up`: every service in a process of its own, until a signal comes. Logs go to standard error, each line with the name
 * of its service.
 * @throws Failed (`port_in_use`) naming who answers there
 */
export async function up(options: UpOptions): Promise<number> {
  const { stdout = process.stdout, stderr = process.stderr, program = './core' } = options;
  const folders = resolveFolders({ home: options.home }, environment);
  const { services: embedded, left } = embeddedStack(folders, options, environment);
  prepareFolder(folders.state, 'state');
  prepareFolder(folders.config, 'config');
  for (const service of embedded) await checkPort(service, program);

  const warn = (text: string) => void stderr.write(`core up │ ${text}\n`);
  const width = Math.max(...embedded.map(({ name }) => name.length));
  const services = embedded.map((definition) => {
    const prefix = `${definition.name.padEnd(width)} │ `;
    return new SupervisedService(definition, {
      line: (text) => void stderr.write(`${prefix}${text}\n`),
      ended: (why, again) =>
        warn(
          `${definition.name} ended: ${why}; ${again === null ? 'not started again' : `again in ${again / 1000} s`}`,
        ),
    });
  });

  const shutdown = new Shutdown({ deadlineMs: stopMs + 2_000, warn });
  const killAll = () => {
    for (const service of services) service.kill();
  };
  process.once('exit', killAll);
  const signalled = new Promise<number>((resolve) => {
    shutdown.listen((code) => {
      killAll();
      resolve(code);
    });
  });
  services.forEach((service, index) => {
    shutdown.add(embedded[index]!.name, () => service.stop(stopMs));
    service.start();
  });

  const gaveUp = Promise.race(services.map(({ gaveUp }) => gaveUp));
  const answering = Promise.all(embedded.map((service) => waitUntilItAnswers(service, shutdown.signal)));
  const first = await Promise.race([answering, gaveUp, signalled]);
  if (typeof first !== 'number') {
    for (const { name, url, status } of first) stdout.write(`${name.padEnd(width)}  ${url}  ${status}\n`);
    stdout.write(
      `${left.map(({ name, why }) => `${name} is not started: ${why}\n`).join('')}\nstate  ${folders.state}\nnext   ${program} plan-issue --owner OWNER --repo REPO --number N    end  Ctrl-C\n`,
    );
  }
  const exitCode = await Promise.race([gaveUp, signalled]);
  await shutdown.close('up ends');
  process.off('exit', killAll);
  return exitCode;
}

async function checkPort({ name, host, port, otherPort }: EmbeddedService, program: string): Promise<void> {
  const holder = await whoAnswers(host, port);
  if (holder.kind === 'nobody') return;
  const hint =
    holder.kind === 'core'
      ? `It may be yours: look with ${program} doctor, or end it and start again. Another port: ${otherPort}.`
      : `End it, or take another port: ${otherPort}.`;
  throw new Failed(
    'port_in_use',
    `port ${port} on ${host}, which ${name} needs, is used by ${describeHolder(holder)}`,
    {
      facts: { host, port },
      hint,
    },
  );
}

async function waitUntilItAnswers(
  { name, host, port, tls }: EmbeddedService,
  signal: AbortSignal,
): Promise<{ name: string; url: string; status: string }> {
  const url = urlOf({ host, port, tls });
  const deadline = performance.now() + startMs;
  while (performance.now() < deadline && !signal.aborted) {
    const holder = await whoAnswers(host, port);
    if (holder.kind === 'core') return { name, url, status: statusOf(holder.health) };
    // Its certificate is for its clients; that it accepts connections is enough here.
    if (tls && holder.kind === 'other') return { name, url, status: 'listens' };
    await setTimeout(100, undefined, { signal }).catch(() => {});
  }
  return {
    name,
    url,
    status: signal.aborted ? 'ending' : `does not answer after ${startMs / 1000} s; see its log above`,
  };
}

/** With the reason, where it is not well. */
function statusOf({ status, checks }: Health): string {
  const why = Object.values(checks).find((check) => check.status !== 'ok')?.detail;
  return status === 'ok' || why === undefined ? status : `${status}: ${visibleLine(why)}`;
}

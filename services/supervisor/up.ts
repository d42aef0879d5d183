import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readSettings, type Settings } from '#kit/config/settings.ts';
import { environment } from '#kit/environment.ts';
import { Failed } from '#kit/errors.ts';
import { prepareFolder, resolveFolders } from '#kit/folders.ts';
import { Shutdown } from '#kit/shutdown.ts';
import { describeHolder, urlHost, whoAnswers } from './port-holder.ts';
import { type ServiceDefinition, SupervisedService } from './supervised-service.ts';

export interface UpOptions {
  readonly home?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: string | number | undefined;
  /** How people call `./core`, for what is suggested. */
  readonly program?: string;
  readonly stdout?: NodeJS.WritableStream;
  readonly stderr?: NodeJS.WritableStream;
}

/** A service of the embedded stack, and where it answers. */
interface EmbeddedService extends ServiceDefinition {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
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
  const settings = readSettings({ folders, flags: { host: options.host, port: options.port }, environment });
  prepareFolder(folders.state, 'state');
  prepareFolder(folders.config, 'config');
  const embedded = embeddedServices(settings, folders);
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
      `\nstate  ${folders.state}\nnext   ${program} plan-issue --owner OWNER --repo REPO --number N    end  Ctrl-C\n`,
    );
  }
  const exitCode = await Promise.race([gaveUp, signalled]);
  await shutdown.close('up ends');
  process.off('exit', killAll);
  return exitCode;
}

function embeddedServices(settings: Settings, folders: { state: string; config: string }): EmbeddedService[] {
  const { host, port, tls } = settings.agentd;
  return [
    {
      name: 'core-agentd',
      args: [fileURLToPath(new URL('../agentd/main.ts', import.meta.url)), 'serve'],
      environment: {
        CORE_STATE_DIR: folders.state,
        CORE_CONFIG_DIR: folders.config,
        CORE_AGENTD_HOST: host,
        CORE_AGENTD_PORT: String(port),
      },
      host,
      port,
      tls: tls !== null,
    },
  ];
}

async function checkPort({ name, host, port }: EmbeddedService, program: string): Promise<void> {
  const holder = await whoAnswers(host, port);
  if (holder.kind === 'nobody') return;
  const hint =
    holder.kind === 'core'
      ? `It may be yours: look with ${program} runs, or end it and start again. Another port: --port or CORE_AGENTD_PORT.`
      : 'End it, or take another port: --port or CORE_AGENTD_PORT.';
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
  const url = `${tls ? 'https' : 'http'}://${urlHost(host)}:${port}`;
  const deadline = performance.now() + startMs;
  while (performance.now() < deadline && !signal.aborted) {
    const holder = await whoAnswers(host, port);
    if (holder.kind === 'core') return { name, url, status: holder.health.status };
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

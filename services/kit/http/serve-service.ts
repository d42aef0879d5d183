import { inBackground } from '../callbacks.ts';
import { announceService } from '../config/running-service.ts';
import { serviceUrl } from '../config/service-address.ts';
import { CoreError, Failed, messageOf } from '../errors.ts';
import type { ServiceProcess } from '../service-process.ts';
import { reportServing } from '../supervisor-channel.ts';
import type { Binding } from './authentication.ts';
import { createHttpServer, type HttpServerOptions } from './server.ts';

/** What a service puts behind its HTTP interface. */
export interface ServedParts
  extends Pick<
    HttpServerOptions,
    'routes' | 'refuseUnknown' | 'requireActive' | 'registry' | 'health' | 'bodyLimit' | 'upgrade'
  > {
  /** In place of the tokens of the installation alone. */
  readonly tokens?: HttpServerOptions['tokens'];
  /** Resolves when the service cannot do its work any more. */
  readonly broken?: Promise<Error>;
}

/**
 * Listens, says where, and serves until a signal comes, the process that started this one is gone, or the service is broken.
 * @param concern the configuration file that holds the binding, for what is said about it
 * @param listening called once, when requests are answered
 * @returns the exit code
 * @throws Failed (`port_in_use`, `thread_ended` and what broke the service)
 */
export async function serveService(
  own: ServiceProcess,
  {
    concern,
    binding,
    parts,
    listening,
    ready = Promise.resolve(),
  }: {
    readonly concern: string;
    readonly binding: Binding;
    readonly parts: ServedParts;
    readonly listening?: () => void;
    /** Resolves when it can be called well, if that is later. */
    readonly ready?: Promise<unknown>;
  },
): Promise<number> {
  const { logger, shutdown, signalled } = own;
  const { broken, ...served } = parts;
  try {
    await listen(own, { concern, binding, parts: served });
  } catch (error) {
    await shutdown.close('it cannot listen');
    throw error;
  }
  listening?.();
  inBackground('a service', () => ready.then(reportServing));
  if (broken === undefined) return signalled;

  const end = await Promise.race([
    signalled,
    broken.then<number | Error>((error) => (shutdown.signal.aborted ? signalled : error)),
  ]);
  if (typeof end === 'number') return end;
  logger.error(`ending: ${messageOf(end)}`, { error: end });
  await shutdown.close('it cannot do its work any more');
  throw end instanceof CoreError ? end : new Failed('thread_ended', messageOf(end), { cause: end });
}

interface Listening {
  readonly concern: string;
  readonly binding: Binding;
  readonly parts: Omit<ServedParts, 'broken'>;
}

/** Serves something else until the service can do its work: what is closed gives its port to `serveService`. */
export async function serveMeanwhile(
  own: ServiceProcess,
  listening: Listening,
): Promise<{ close(): Promise<void> }> {
  const server = await listen(own, listening);
  reportServing();
  return server;
}

async function listen(
  { service, version, folders, tokens, redactor, logger, shutdown }: ServiceProcess,
  { concern, binding, parts }: Listening,
): Promise<{ close(): Promise<void> }> {
  const server = createHttpServer({
    service,
    version,
    binding,
    settings: concern,
    tokens,
    logger,
    redactor,
    ...parts,
  });
  shutdown.add('the HTTP interface', () => server.close());
  const { port } = await server.start();
  const { host } = binding;
  const announced = announceService(service, folders, {
    url: serviceUrl({ ...binding, port }),
    host,
    port,
  });
  shutdown.add('the note of its address', () => announced.withdraw());
  return {
    async close() {
      announced.withdraw();
      await server.close();
    },
  };
}

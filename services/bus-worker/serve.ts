import { openBus } from '#kit/bus/open-bus.ts';
import { agentdUrl, bridgeUrl } from '#kit/config/client-urls.ts';
import { LiveConfig } from '#kit/config/live-config.ts';
import { planningSeconds } from '#kit/config/planning-seconds.ts';
import { readSettings } from '#kit/config/settings.ts';
import { type Environment, environment } from '#kit/environment.ts';
import { Refused } from '#kit/errors.ts';
import { type Folders, resolveFolders } from '#kit/folders.ts';
import { createHttpClient } from '#kit/http/client.ts';
import { openClientProcess } from '#kit/service-process.ts';
import { serviceToken } from '#kit/tokens/tokens.ts';
import { platformFunctions, type Services } from './functions.ts';
import { Planning } from './planning.ts';

/** Milliseconds beside the planner's own bound: reading the issue, fetching, validating. */
const marginMs = 60_000;

interface WorkerOptions {
  readonly home: string | undefined;
}

/** @returns milliseconds that a planning may take, as agents.json says now */
export function readConfiguration({ home }: WorkerOptions): LiveConfig<number> {
  const folders = resolveFolders({ home }, environment);
  const read = () => planningSeconds(folders) * 1000 + marginMs;
  return new LiveConfig({ names: ['agents'], folders, read });
}

export async function serve(options: WorkerOptions): Promise<number> {
  const allowed = readConfiguration(options);
  const { folders, logger, shutdown, signalled } = openClientProcess('core-bus-worker', options);
  allowed.report(logger);
  const services = openServices({ folders, environment });
  shutdown.add('its clients', () => services.close());
  const planning = new Planning({ agentd: services.agentd, withinMs: () => allowed.current });
  const bus = openBus({
    folders,
    environment,
    token: () => serviceToken(folders, 'worker'),
    name: 'core-bus-worker',
    logger,
  });
  shutdown.add('the bus', () => bus.close());
  bus.register(platformFunctions(services, planning));
  return signalled;
}

/** The services of this installation, wherever they are when they are asked. */
function openServices(sources: {
  readonly folders: Folders;
  readonly environment: Environment;
}): Services & { close(): Promise<void> } {
  const follow = (baseUrl: () => string) =>
    createHttpClient({ baseUrl, token: () => serviceToken(sources.folders, 'worker') });
  const agentd = follow(() => agentdUrl(sources));
  const context = follow(() => contextUrl(sources));
  const bridge = follow(() => bridgeUrl(sources));
  return {
    agentd,
    context,
    bridge,
    answerMs: readSettings(sources).answers.seconds * 1000,
    async close() {
      await Promise.all([agentd.close(), context.close(), bridge.close()]);
    },
  };
}

function contextUrl(sources: { readonly folders: Folders; readonly environment: Environment }): string {
  const { url } = readSettings(sources).context;
  if (url !== null) return url;
  throw new Refused('context_not_configured', 'this installation does without the context service', {
    hint: 'Set context.url in core.json, for example http://127.0.0.1:8090.',
  });
}

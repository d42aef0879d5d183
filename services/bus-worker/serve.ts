import { openBus } from '#kit/bus/open-bus.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { openServiceProcess } from '#kit/service-process.ts';
import { serviceToken } from '#kit/tokens.ts';
import { platformFunctions } from './functions/functions.ts';
import { openServices } from './open-services.ts';
import { Planning } from './planning/planning.ts';
import { planningSeconds } from './planning/planning-seconds.ts';

/** Milliseconds beside the planner's own bound: reading the issue, fetching, validating. */
const marginMs = 60_000;

interface WorkerOptions {
  readonly home: string | undefined;
}

/** @returns milliseconds that a planning may take */
export function readConfiguration({ home }: WorkerOptions): number {
  return planningSeconds(resolveFolders({ home }, environment)) * 1000 + marginMs;
}

/** Runs core-bus-worker until a signal comes or the process that started it is gone. */
export async function serve(options: WorkerOptions): Promise<number> {
  const withinMs = readConfiguration(options);
  const { folders, logger, shutdown, signalled } = openServiceProcess('core-bus-worker', options);
  const services = openServices({ folders, environment });
  shutdown.add('its clients', () => services.close());
  const planning = new Planning({ agentd: services.agentd, withinMs });
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

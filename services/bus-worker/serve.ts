import { openBus } from '#kit/bus/open-bus.ts';
import { environment } from '#kit/environment.ts';
import { openServiceProcess } from '#kit/service-process.ts';
import { serviceToken } from '#kit/tokens.ts';
import { platformFunctions } from './functions/functions.ts';
import { openServices } from './open-services.ts';
import { Planning } from './planning/planning.ts';
import { planningSeconds } from './planning/planning-seconds.ts';

/** Milliseconds beside the planner's own bound: reading the issue, fetching, validating. */
const marginMs = 60_000;

/** Runs core-bus-worker until a signal comes or the process that started it is gone. */
export async function serve({ home }: { readonly home: string | undefined }): Promise<number> {
  const { folders, logger, shutdown, signalled } = openServiceProcess('core-bus-worker', { home });
  const withinMs = planningSeconds(folders) * 1000 + marginMs;
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

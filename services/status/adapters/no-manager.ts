import { platformServices } from '#kit/contracts/platform-services.ts';
import type { ServiceManager, Unit } from '../service-manager.ts';

const untold: Unit = {
  state: 'unknown',
  pid: null,
  restarts: null,
  since: null,
  detail: 'not told from here; what it answers is under http',
  fix: null,
};

/** In a container nobody can be asked who runs the others: what they answer is all there is. */
export const noManager: ServiceManager = {
  kind: 'none',
  detail: 'nobody is asked who runs the services, only the services themselves',
  units: async () => new Map(platformServices.map((name) => [name, untold])),
  environment: async () => null,
};

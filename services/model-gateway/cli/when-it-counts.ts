import { runningService } from '#kit/config/running-service.ts';
import { type Environment, environment } from '#kit/environment.ts';
import type { Folders } from '#kit/folders.ts';

/** When a change of models.json counts: a gateway reads its models once, at its start. */
export function whenItCounts(folders: Pick<Folders, 'state'>, variables: Environment = environment): string {
  const running = runningService('core-model-gateway', folders);
  if (running === null && variables.CORE_MODELS_URL)
    return `the gateway at ${variables.CORE_MODELS_URL} goes on with the models that it began with: start it again, in the compose stack by docker compose restart core-model-gateway`;
  return running === null
    ? 'no gateway runs here; the next one that starts goes by it'
    : `the gateway that runs at ${running.url} goes on with the models that it began with: end it (Ctrl-C where ./core up runs) and start it again`;
}

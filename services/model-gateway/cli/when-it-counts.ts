import { runningService } from '#kit/config/running-service.ts';
import type { Folders } from '#kit/folders.ts';

/** When a change of models.json counts: a gateway reads its models once, at its start. */
export function whenItCounts(folders: Pick<Folders, 'state'>): string {
  const running = runningService('core-model-gateway', folders);
  return running === null
    ? 'no gateway runs here; the next one that starts goes by it'
    : `the gateway that runs at ${running.url} goes on with the models that it began with: end it (Ctrl-C where ./core up runs) and start it again`;
}

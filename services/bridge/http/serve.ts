import { openBus } from '#kit/bus/open-bus.ts';
import type { ServeOptions } from '#kit/cli/serve-command.ts';
import { busAddress } from '#kit/config/bus-url.ts';
import { agentdUrl } from '#kit/config/client-urls.ts';
import { readKnownForges } from '#kit/config/known-forges.ts';
import { readSettings } from '#kit/config/settings.ts';
import { readPostgresSettings } from '#kit/config/storage.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { serveService } from '#kit/http/serve-service.ts';
import { openServiceProcess } from '#kit/service-process.ts';
import { serviceToken } from '#kit/tokens/tokens.ts';
import { openBridgeStorage } from '../bridge-storage.ts';
import { type BridgeService, composeBridge } from '../compose.ts';
import { readBridgeConfig } from '../configuration.ts';
import { connectDaemon } from '../daemon.ts';
import { readSchedules } from '../schedules/configuration.ts';
import { readRoleMap } from '../targets/role-map.ts';

/** Services that start together find each other within this many milliseconds. */
const connectsWithinMs = 5_000;

export function readConfiguration({ home, host, port }: ServeOptions) {
  const folders = resolveFolders({ home }, environment);
  const forges = readKnownForges(folders);
  const config = readBridgeConfig({ folders, flags: { host, port }, environment }, forges);
  const roles = readRoleMap(folders);
  readPostgresSettings(folders);
  return { config, forges, roles, schedules: readSchedules(folders, { roles, forges }) };
}

/** Runs core-bridge until a signal comes, or the process that started it is gone. */
export async function serve(options: ServeOptions): Promise<number> {
  const read = readConfiguration(options);
  const own = await openServiceProcess('core-bridge', options);
  const { folders } = own;
  const sources = { folders, environment };
  const token = () => serviceToken(folders, 'bridge');
  const bus = openBus({
    ...sources,
    token,
    name: 'core-bridge',
    logger: own.logger,
    watch: () => bridge?.busChanged(),
  });
  own.shutdown.add('the bus', () => bus.close());
  const daemon = connectDaemon(() => agentdUrl(sources), token);
  const busUrl = () => busAddress(sources).url;
  let bridge: BridgeService | null = null;
  const ending = own.shutdown.signal;
  const answerMs = readSettings(sources).answers.seconds * 1000;
  const storage = await openBridgeStorage(folders);
  bridge = composeBridge({ ...own, ...read, storage, ending, bus, busUrl, daemon, answerMs });
  const composed = bridge;
  own.shutdown.add('the queue', () => composed.close());
  return serveService(own, {
    concern: 'bridge',
    binding: read.config,
    parts: {
      routes: composed.routes,
      registry: composed.registry,
      health: () => composed.health(),
    },
    listening: () => composed.begin(),
    ready: bus.whenConnected(connectsWithinMs).catch(() => {}),
  });
}

import type { CoreError } from '#kit/errors.ts';
import type { Binding } from '#kit/http/authentication.ts';
import { serveMeanwhile } from '#kit/http/serve-service.ts';
import type { ServiceProcess } from '#kit/service-process.ts';
import { type ActiveRecord, type HostsOptions, openHosts } from './active-record.ts';
import { contextMetrics } from './metrics.ts';

/**
 * Answers as a standby until this process is the active one.
 * @returns null where the process ends before
 */
export async function waitAsStandby(
  own: ServiceProcess,
  binding: Binding,
  settings: HostsOptions['settings'],
): Promise<ActiveRecord | null> {
  const { folders, logger, shutdown, version } = own;
  const hosts = openHosts({ folders, settings, logger });
  shutdown.add('the lease', () => hosts.close());
  let why: CoreError | null = null;
  let server: { close(): Promise<void> } | null = null;

  async function standing(reason: CoreError): Promise<void> {
    if (why?.message !== reason.message) logger.info(reason.message);
    why = reason;
    server ??= await serveMeanwhile(own, {
      concern: 'context',
      binding,
      parts: {
        routes: [],
        registry: contextMetrics(null),
        requireActive() {
          throw why;
        },
        health: async () => ({
          status: 'standby',
          service: own.service,
          version,
          checks: { active: { status: 'ok', detail: why!.message } },
        }),
      },
    });
  }

  const active = await hosts.becomeActive(standing, shutdown.signal);
  await (server as { close(): Promise<void> } | null)?.close();
  if (active !== null) logger.info('this core-context is the active one');
  return active;
}

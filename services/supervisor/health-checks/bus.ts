import { Cron } from 'croner';
import * as t from 'io-ts';
import { answerMs } from '#kit/config/answer-ms.ts';
import { busAddress } from '#kit/config/bus-url.ts';
import { mergedDocument, readConcernDocument } from '#kit/config/concern.ts';
import { runningService } from '#kit/config/running-service.ts';
import { readServiceAddress } from '#kit/config/service-address.ts';
import { decode, optional } from '#kit/decode.ts';
import { environment } from '#kit/environment.ts';
import { messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { readEngineHttpPort } from '../engine-http-port.ts';
import { connects } from '../port-holder.ts';
import type { Finding } from './finding.ts';
import { broken, checkPort, checkServicePort } from './installation.ts';

/** Where the functions of the platform are found. */
export async function checkBus(folders: Folders): Promise<Finding> {
  const name = 'bus';
  try {
    const { url, own, where } = busAddress({ folders, environment });
    const { hostname, port } = new URL(url.replace(/^ws/, 'http'));
    const kind = own ? 'our own engine' : 'another engine';
    const number = Number(port || (url.startsWith('wss') ? 443 : 80));
    const reached = await connects(hostname, number, answerMs({ folders, environment }));
    if (reached === 'late')
      return {
        name,
        state: 'warning',
        detail: `${kind} at ${url} took no connection in time`,
        fix: 'It may be busy or halted: ./core status',
      };
    if (reached === 'somebody')
      return { name, state: 'works', detail: `${kind} at ${url} accepts connections`, fix: null };
    const without = 'events wait in the bridge, schedules do not tick; all commands work';
    if (own)
      return {
        name,
        state: 'missing',
        detail: `${kind} does not run (${url}): ${without}`,
        fix: './core up',
      };
    return {
      name,
      state: 'warning',
      detail: `${kind} at ${url} (${where}) does not accept connections: ${without}`,
      fix: 'Start it, or correct the address: url in bus.json, or CORE_BUS_URL.',
    };
  } catch (error) {
    return broken(name, error);
  }
}

/** Where the embedded engine listens; nowhere while another bus is in its place. */
export async function checkEnginePorts(folders: Folders): Promise<Finding[]> {
  try {
    if (!busAddress({ folders, environment }).own) return [];
    const socket = checkServicePort('core-bus-engine', 'bus', folders);
    // While the engine of this state folder runs, that port is its own too.
    if (runningService('core-bus-engine', folders) !== null) return [await socket];
    const { host } = readServiceAddress('bus', { folders, environment });
    const port = readEngineHttpPort(folders, environment);
    const http = checkPort({ host, port }, { running: null, setting: 'http_port in bus.json', folders });
    return await Promise.all([socket, http]);
  } catch (error) {
    return [broken('core-bus-engine', error)];
  }
}

const Schedules = t.strict({
  schedules: t.array(
    t.strict({
      name: t.string,
      cron: t.string,
      zone: optional(t.string),
      enabled: optional(t.boolean),
    }),
  ),
});

/** That the file can be read, and when each schedule is due; core-bridge checks the rest of it. */
export function checkSchedules(folders: Folders): Finding {
  const name = 'schedules';
  try {
    const { document, path } = mergedDocument(readConcernDocument('schedules', folders));
    const { schedules } = decode(Schedules, document, path, 'config_invalid');
    const enabled = schedules.filter((schedule) => schedule.enabled !== false);
    if (enabled.length === 0)
      return { name, state: 'works', detail: 'none; schedules.json takes them', fix: null };
    return { name, state: 'works', detail: enabled.map(nextOf).join('; '), fix: null };
  } catch (error) {
    return { name, state: 'broken', detail: messageOf(error), fix: 'Correct schedules.json.' };
  }
}

function nextOf({ name, cron, zone = 'UTC' }: t.TypeOf<typeof Schedules>['schedules'][number]): string {
  try {
    const next = new Cron(cron, { timezone: zone, paused: true, mode: '5-part' }).nextRun();
    return `${name}: ${next === null ? 'never' : `next ${next.toISOString()}`}`;
  } catch (error) {
    throw new Error(`schedule ${name}: cron ${JSON.stringify(cron)} in zone ${zone}: ${messageOf(error)}`);
  }
}

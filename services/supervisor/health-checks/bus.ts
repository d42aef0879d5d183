import { Cron } from 'croner';
import * as t from 'io-ts';
import { busAddress, engineHttpPort } from '#kit/config/bus-url.ts';
import { readConcernPart } from '#kit/config/concern.ts';
import { runningService } from '#kit/config/running-service.ts';
import { readServiceAddress } from '#kit/config/service-address.ts';
import { answerMs } from '#kit/config/settings.ts';
import { nullable, optional } from '#kit/decode.ts';
import { environment } from '#kit/environment.ts';
import { messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { byWebhookForge } from '#kit/forges/registry.ts';
import { openSecretFile, problemOf } from '#kit/webhooks/secret-file.ts';
import { connects } from '../port-holder.ts';
import { broken, checkPort, checkServicePort, type Finding, finding } from './installation.ts';

/** Where the functions of the platform are found. */
export async function checkBus(folders: Folders): Promise<Finding> {
  try {
    const { url, own, where } = busAddress({ folders, environment });
    const { hostname, port } = new URL(url.replace(/^ws/, 'http'));
    const kind = own ? 'our own engine' : 'another engine';
    const number = Number(port || (url.startsWith('wss') ? 443 : 80));
    const reached = await connects(hostname, number, answerMs({ folders, environment }));
    if (reached === 'late')
      return finding(
        'bus',
        'warning',
        `${kind} at ${url} took no connection in time`,
        'It may be busy or halted: ./core status',
      );
    if (reached === 'somebody') return finding('bus', 'works', `${kind} at ${url} accepts connections`);
    const without = 'events wait in the bridge, schedules do not tick; all commands work';
    if (own) return finding('bus', 'missing', `${kind} does not run (${url}): ${without}`, './core up');
    const detail = `${kind} at ${url} (${where}) does not accept connections: ${without}`;
    const fix = 'Start it, or correct the address: url in bus.json, or CORE_BUS_URL.';
    return finding('bus', 'warning', detail, fix);
  } catch (error) {
    return broken('bus', error);
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
    const port = engineHttpPort(folders, environment);
    const http = checkPort({ host, port }, { running: null, setting: 'http_port in bus.json', folders });
    return await Promise.all([socket, http]);
  } catch (error) {
    return [broken('core-bus-engine', error)];
  }
}

const Schedule = t.strict({
  name: t.string,
  cron: t.string,
  zone: optional(t.string),
  enabled: optional(t.boolean),
});
const Schedules = t.strict({ schedules: t.array(Schedule) });

/** That the file can be read, and when each schedule is due; core-bridge checks the rest of it. */
export function checkSchedules(folders: Folders): Finding {
  try {
    const { schedules } = readConcernPart(Schedules, 'schedules', folders);
    const enabled = schedules.filter((schedule) => schedule.enabled !== false).map(nextOf);
    return finding('schedules', 'works', enabled.join('; ') || 'none; schedules.json takes them');
  } catch (error) {
    return finding('schedules', 'broken', messageOf(error), 'Correct schedules.json.');
  }
}

const Signed = t.strict({ secret: nullable(t.string) });
const Ingress = t.strict({
  ingress: t.strict({ dashboard: Signed, ...byWebhookForge(() => Signed) }),
});

/** That the secrets that sign webhooks can be used. One that is not there has a sender that is not set up. */
export function checkWebhookSecrets(folders: Folders): Finding[] {
  try {
    const { ingress } = readConcernPart(Ingress, 'bridge', folders);
    const names = new Set(Object.values(ingress).flatMap(({ secret }) => secret ?? []));
    return [...names].flatMap((name) => {
      const problem = problemOf(openSecretFile(folders.secrets, name, () => {}));
      if (problem === null) return [];
      return [finding(`secret ${name}`, 'broken', problem.message, problem.hint ?? `Correct ${name}.`)];
    });
  } catch (error) {
    return [finding('webhooks', 'broken', messageOf(error), 'Correct bridge.json.')];
  }
}

function nextOf({ name, cron, zone = 'UTC' }: t.TypeOf<typeof Schedule>): string {
  try {
    const next = new Cron(cron, { timezone: zone, paused: true, mode: '5-part' }).nextRun();
    return `${name}: ${next === null ? 'never' : `next ${next.toISOString()}`}`;
  } catch (error) {
    throw new Error(`schedule ${name}: cron ${JSON.stringify(cron)} in zone ${zone}: ${messageOf(error)}`);
  }
}

import { type ClientService, clientConcerns, givenUrl, ownUrl } from '#kit/config/client-urls.ts';
import { answerMs } from '#kit/config/settings.ts';
import { environment } from '#kit/environment.ts';
import type { Folders } from '#kit/folders.ts';
import { describeHolder, whoAnswersAt } from '../port-holder.ts';
import { broken, type Finding, finding, limitsOf } from './installation.ts';

/** Services that clients are to reach at an address that is not the one of this host. */
export async function checkElsewhere(folders: Folders): Promise<Finding[]> {
  const services = Object.keys(clientConcerns) as ClientService[];
  const found = await Promise.all(services.map((service) => checkOne(service, folders)));
  return found.filter((one) => one !== null);
}

async function checkOne(service: ClientService, folders: Folders): Promise<Finding | null> {
  try {
    const sources = { folders, environment };
    const given = givenUrl(service, sources);
    if (given === null || given.url === null || given.url === ownUrl(service, sources)) return null;
    const { url, where } = given;
    const holder = await whoAnswersAt(url, answerMs(sources));
    if (holder.kind !== 'core' || holder.health.service !== service) {
      const what = holder.kind === 'nobody' ? 'nothing' : describeHolder(holder);
      const detail = `clients ask ${url} (${where}), where ${what} answers`;
      return finding(
        service,
        'warning',
        detail,
        `Start ${service} there, or behind the proxy there, or correct the address.`,
      );
    }
    const { health } = holder;
    const detail = `${describeHolder(holder)} answers clients at ${url} (${where})${limitsOf(health)}`;
    switch (health.status) {
      case 'ok':
        return finding(service, 'works', detail);
      case 'degraded':
        return finding(service, 'warning', detail);
      case 'standby': {
        const fix = 'A standby answers nothing: clients need a proxy that finds the active one.';
        return finding(service, 'warning', detail, fix);
      }
      case 'failing':
        return finding(service, 'warning', detail, `Its checks: ${url}/healthz`);
    }
  } catch (error) {
    return broken(service, error);
  }
}

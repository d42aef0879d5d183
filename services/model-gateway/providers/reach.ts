import { messageOf, Unavailable } from '#kit/errors.ts';
import type { GatewayConfig } from '../configuration.ts';
import type { Connections } from './model-lanes.ts';

/**
 * Whether each upstream's address answers at all: a request without a credential, whose answer is not looked at and costs nothing.
 * @returns a word for people
 * @throws Unavailable (`upstream_unreachable`) naming those that do not
 */
export async function reachUpstreams(
  { models, mode }: Pick<GatewayConfig, 'models' | 'mode'>,
  dispatcher: Connections,
  signal: AbortSignal,
): Promise<string> {
  const entries = Object.values(models).flatMap(({ upstreams }) => upstreams);
  const origins = [...new Set(entries.map(({ base_url }) => new URL(base_url).origin))];
  if (mode === 'replay' || origins.length === 0) return 'none is needed';
  const { request } = await import('undici');
  const failures = await Promise.all(
    origins.map(async (origin) => {
      try {
        const { body } = await request(origin, { method: 'HEAD', dispatcher: dispatcher as never, signal });
        await body.dump();
        return null;
      } catch (error) {
        return signal.aborted ? `${origin} did not answer in time` : `${origin}: ${messageOf(error)}`;
      }
    }),
  );
  const failed = failures.filter((failure) => failure !== null);
  if (failed.length === 0) return `${origins.join(', ')} can be reached`;
  throw new Unavailable('upstream_unreachable', `not reached: ${failed.join('; ')}`);
}

import { Agent, type Dispatcher, EnvHttpProxyAgent, request } from 'undici';
import type { Environment } from '#kit/environment.ts';
import { messageOf, Unavailable } from '#kit/errors.ts';
import type { GatewayConfig } from '../configuration.ts';
import type { Progress } from './failure.ts';

export type Connections = Pick<Dispatcher, 'dispatch'>;

export type Proxies = Pick<Environment, 'HTTP_PROXY' | 'HTTPS_PROXY' | 'NO_PROXY'>;

/**
 * Connections to all upstreams: kept open, none ever shared by two calls at once, redirects not followed; through a proxy where
 * the environment names one, but for upstreams on this machine.
 */
export function upstreamConnections(connectMs: number, proxies: Proxies): Dispatcher {
  const options = {
    connect: { timeout: connectMs },
    pipelining: 1,
    keepAliveTimeout: 4_000,
    maxResponseSize: -1,
    maxHeaderSize: 32_768,
  };
  const { HTTP_PROXY: httpProxy = '', HTTPS_PROXY: httpsProxy = '', NO_PROXY = '' } = proxies;
  if (httpProxy === '' && httpsProxy === '') return new Agent(options);
  const noProxy = `localhost,127.0.0.1,::1,${NO_PROXY}`;
  return new EnvHttpProxyAgent({ ...options, httpProxy, httpsProxy, noProxy });
}

/**
 * The same connections for one request: notes when it goes out, as only then it can be charged, and limits the silence between
 * two pieces of its answer. A slow reader is not limited.
 */
export function noting(connections: Connections, progress: { stage: Progress }, idleMs: number): Dispatcher {
  const dispatch: Dispatcher['dispatch'] = (options, handler) => {
    const connected = handler.onConnect;
    handler.onConnect = (...given) => {
      progress.stage = 'sent';
      connected?.apply(handler, given);
    };
    return connections.dispatch({ ...options, headersTimeout: 0, bodyTimeout: idleMs }, handler);
  };
  return { dispatch } as Dispatcher;
}

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

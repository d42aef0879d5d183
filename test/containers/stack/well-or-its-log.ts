import { Wait, type WaitStrategy } from 'testcontainers';
import { docker } from '../../fixtures/containers/docker.ts';

type Waiting = Parameters<WaitStrategy['waitUntilReady']>;

/**
 * Waits for the health check where a container has one; what is not well is named, with the end of its log. The first that is not
 * well is the reason for all: the others are taken away with it.
 */
export function wellOrItsLog(within: number): WaitStrategy {
  let timeout = within;
  let reason: Error | undefined;
  const strategy: WaitStrategy = {
    async waitUntilReady(...[container, ports, since]: Waiting) {
      try {
        const { State } = await container.inspect();
        if (State.Health === undefined) return;
        await Wait.forHealthCheck().withStartupTimeout(timeout).waitUntilReady(container, ports, since);
      } catch (error) {
        reason ??= await notWell(container, error);
        throw reason;
      }
    },
    withStartupTimeout(given) {
      timeout = given;
      return strategy;
    },
    isStartupTimeoutSet: () => true,
    getStartupTimeout: () => timeout,
  };
  return strategy;
}

async function notWell(container: Waiting[0], cause: unknown): Promise<Error> {
  const name = await container.inspect().then(
    ({ Name }) => Name.slice(1),
    () => container.id,
  );
  const { stdout, stderr } = await docker(['logs', '--tail', '60', container.id]);
  return new Error(`${name} is not well; its log ends with:\n${stdout}${stderr}`, { cause });
}

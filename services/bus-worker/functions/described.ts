import type { BusFunction } from '#kit/bus/bus.ts';
import type { FollowingClient } from '#kit/http/following-client.ts';
import { Planning } from '../planning/planning.ts';
import { platformFunctions } from './functions.ts';

/** The functions as they are described; calling one of these asks nobody. */
export function describedFunctions(): readonly Omit<BusFunction, 'handle'>[] {
  const nobody: FollowingClient = {
    now: () => {
      throw new TypeError('a described function was called');
    },
    close: async () => {},
  };
  const services = { agentd: nobody, context: nobody, bridge: nobody, answerMs: 1 };
  return platformFunctions(services, new Planning({ agentd: nobody, withinMs: 0 }));
}

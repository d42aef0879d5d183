import type { FollowingClient } from '#kit/http/following-client.ts';

/** What the functions ask. */
export interface Services {
  readonly agentd: FollowingClient;
  readonly context: FollowingClient;
  readonly bridge: FollowingClient;
}

import type { FollowingClient } from '#kit/http/following-client.ts';

/** What the functions ask. */
export interface Services {
  readonly agentd: FollowingClient;
  readonly context: FollowingClient;
  readonly bridge: FollowingClient;
  /** Milliseconds for the answer of another service about how it is. */
  readonly answerMs: number;
}

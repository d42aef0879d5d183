/** The services of the platform, in the order in which people are shown them. */
export const platformServices = [
  'core-bus-engine',
  'core-context',
  'core-model-gateway',
  'core-agentd',
  'core-bus-worker',
  'core-bridge',
] as const;
export type PlatformService = (typeof platformServices)[number];

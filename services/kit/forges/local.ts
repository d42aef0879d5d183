import type { ForgeTraits } from './forge-traits.ts';

/** A folder of bare repositories and records. */
export const local = {
  default_url: null,
  default_root: 'forge',
  webhooks: null,
} as const satisfies ForgeTraits;

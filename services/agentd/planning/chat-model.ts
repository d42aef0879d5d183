import type { KnownModel } from '#kit/config/known-models.ts';

/**
 * The model that plans for a tier: the first of that tier, else the first that has none, else any that chats. One model alone
 * serves every role.
 */
export function chatModelFor(models: readonly KnownModel[], tier: string | null): KnownModel | null {
  const chats = models.filter(({ kind }) => kind === 'chat');
  return (
    chats.find((model) => model.tier === tier) ??
    chats.find((model) => model.tier === null) ??
    chats[0] ??
    null
  );
}

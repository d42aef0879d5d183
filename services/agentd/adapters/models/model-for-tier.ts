import { join } from 'node:path';
import { InvalidInput } from '#kit/errors.ts';
import type { Model } from '../../planning/model.ts';
import type { EndpointConfig } from '../../planning/roles.ts';
import { openAiCompatibleModel } from './openai-compatible.ts';

/** The configured model of a tier. Nothing is sent and no key is read before it is asked something. */
export function modelForTier(endpoint: EndpointConfig, tier: string, secretsDir: string): Model {
  const chosen = Object.hasOwn(endpoint.tiers, tier) ? endpoint.tiers[tier] : undefined;
  if (chosen === undefined) {
    const choices = Object.keys(endpoint.tiers).join(', ') || 'none';
    throw new InvalidInput('tier_unknown', `there is no model tier "${tier}"; there are ${choices}`);
  }
  const { credential_file, base_url } = endpoint;
  return openAiCompatibleModel({
    base_url,
    credential_file: credential_file === null ? null : join(secretsDir, credential_file),
    model: chosen.model,
    tier,
    price: chosen.price,
    max_tokens_field: chosen.max_tokens_field,
  });
}

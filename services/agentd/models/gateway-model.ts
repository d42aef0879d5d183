import type { KnownModel } from '#kit/config/known-models.ts';
import type { MintedKey } from '#kit/contracts/model-gateway/keys.ts';
import { ModelFacts } from '#kit/contracts/model-gateway/models.ts';
import { CoreError, Refused, Unavailable } from '#kit/errors.ts';
import { createHttpClient } from '#kit/http/client.ts';
import type { Model } from '../planning/model.ts';
import type { PlannerBounds } from '../planning/roles.ts';
import { openAiCompatibleModel } from './openai-compatible.ts';
import { type Gateway, gatewayAway, mintKey, revokeKey } from './run-key.ts';

export interface GatewayModelOptions extends Gateway {
  readonly known: KnownModel;
  readonly tier: string;
  /** The run that pays. */
  readonly run: string;
  readonly bounds: Pick<PlannerBounds, 'money' | 'seconds'>;
}

/** Longer than the gateway waits for an upstream's word. */
const contextMs = 10_000;

/**
 * A model of core-model-gateway, for one run. It is asked with a key that is good for this run and model, its money bound and
 * the time of its planning, made at the first call and ended by `close`.
 */
export function gatewayModel(options: GatewayModelOptions): Model & { close(): Promise<void> } {
  const { known, tier, url } = options;
  let minting: Promise<MintedKey> | null = null;
  const model = openAiCompatibleModel({
    base_url: `${url}/v1`,
    async credential() {
      minting ??= mintKey(options, { run_id: options.run, model: known.name, ...options.bounds });
      try {
        return (await minting).key;
      } catch (error) {
        minting = null;
        throw error;
      }
    },
    model: known.name,
    tier,
    price: known.price,
  });
  return {
    ...model,
    async *complete(request, signal) {
      try {
        yield* model.complete(request, signal);
      } catch (error) {
        if (!teachesLimitName(error)) throw explained(error, url);
        yield* model.complete(request, signal);
      }
    },
    contextTokens: (signal) => contextTokens(options, signal),
    async close() {
      const key = await minting?.catch(() => null);
      minting = null;
      if (key != null) await revokeKey(options, key.id);
    },
  };
}

/** Newer models of OpenAI know the limit of an answer by another name alone; the gateway uses it from their refusal on. */
function teachesLimitName(error: unknown): boolean {
  return (
    error instanceof Refused && error.facts.status === 400 && /max_completion_tokens/.test(error.message)
  );
}

/** A gateway that does not say leaves it to what is configured. */
async function contextTokens({ url, token, known }: GatewayModelOptions, signal: AbortSignal) {
  const client = createHttpClient({ baseUrl: url, token: token(), timeoutMs: contextMs });
  try {
    const facts = await client.get(`/v1/models/${encodeURIComponent(known.name)}`, ModelFacts, { signal });
    return facts.limits.context_tokens;
  } catch {
    return null;
  } finally {
    await client.close();
  }
}

/** The same error with what can be done about it where a gateway stands between. */
function explained(error: unknown, url: string): unknown {
  if (!(error instanceof CoreError)) return error;
  const away = gatewayAway(error, url);
  if (away !== null) return away;
  const { code, message, facts, retryAfter } = error;
  const options = { cause: error, facts, hint: hintFor(error) };
  if (error instanceof Refused) return new Refused(code, message, options);
  if (!(error instanceof Unavailable) || !code.startsWith('model_')) return error;
  return new Unavailable(code, message, { ...options, ...(retryAfter !== undefined && { retryAfter }) });
}

function hintFor({ facts }: CoreError): string {
  if (facts.code === 'insufficient_quota')
    return 'raise planner.bounds.money in agents.json or budgets.day in models.json, or make the issue smaller';
  if (facts.status === 401)
    return 'the upstream rejected the credential of the gateway (check it with ./core model check), or the key of this run has expired: plan again';
  return './core model check asks each upstream';
}

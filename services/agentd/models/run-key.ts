import {
  RunKey as KeyFacts,
  type MintedKey,
  MintedKey as MintedKeyCodec,
} from '#kit/contracts/model-gateway/keys.ts';
import { UsageReply } from '#kit/contracts/model-gateway/usage.ts';
import { CoreError, Unavailable } from '#kit/errors.ts';
import { createHttpClient } from '#kit/http/client.ts';
import type { OpenRunKey, RunKeyRequest, RunUsage } from '../planning/run-key.ts';

export interface Gateway {
  /** Of core-model-gateway, for example `http://127.0.0.1:8092`. */
  readonly url: string;
  /** Of this installation, with the scope `mint`; read when a key is made or ended. */
  readonly token: () => string;
}

/** A key outlives the planning that it is for by so much, and lives no longer than the gateway allows. */
const spareMs = 60_000;
const maxLifeMs = 24 * 3_600_000 - spareMs;
const keyCallMs = 10_000;

export async function mintKey({ url, token }: Gateway, request: RunKeyRequest): Promise<MintedKey> {
  const lifeMs = Math.min(request.seconds * 1_000 + spareMs, maxLifeMs);
  const client = createHttpClient({ baseUrl: url, token: token(), timeoutMs: keyCallMs });
  try {
    const wanted = {
      run: request.run_id,
      models: [request.model],
      budget: request.money,
      expires_at: new Date(Date.now() + lifeMs).toISOString(),
    };
    return await client.post('/v1/keys', wanted, MintedKeyCodec);
  } finally {
    await client.close();
  }
}

/** A gateway that is gone ends the key by its time. */
export async function revokeKey({ url, token }: Gateway, id: string): Promise<void> {
  try {
    const client = createHttpClient({ baseUrl: url, token: token(), timeoutMs: keyCallMs });
    await client.delete(`/v1/keys/${id}`, KeyFacts).finally(() => client.close());
  } catch {}
}

/** Keys for programs that ask models themselves. */
export function gatewayKeys(gateway: Gateway): OpenRunKey {
  return async (request) => {
    const minted = await mintKey(gateway, request).catch((error) => {
      throw gatewayAway(error, gateway.url) ?? error;
    });
    const client = createHttpClient({ baseUrl: gateway.url, token: minted.key, timeoutMs: keyCallMs });
    return {
      url: gateway.url,
      key: minted.key,
      usage: () => client.get('/v1/usage?by=run', UsageReply).then(usageOf, () => null),
      async close() {
        await client.close();
        await revokeKey(gateway, minted.id);
      },
    };
  };
}

/** What can be done about a gateway that does not answer; null for other errors. */
export function gatewayAway(error: unknown, url: string): Unavailable | null {
  if (!(error instanceof CoreError)) return null;
  const { code, facts } = error;
  if (code !== 'http_unavailable' && !(code === 'model_unavailable' && facts.code === 'ECONNREFUSED'))
    return null;
  return new Unavailable('model_unavailable', `core-model-gateway does not answer at ${url}`, {
    cause: error,
    hint: 'start it with ./core up',
  });
}

/** The key of a run sees that run alone. */
function usageOf({ total }: UsageReply): RunUsage {
  const { calls, input_tokens, output_tokens, cached_tokens, cost } = total;
  return { calls, input_tokens, output_tokens, cached_tokens, cost };
}

import * as t from 'io-ts';
import { nullable, oneOf, optional } from '../decode.ts';
import type { Folders } from '../folders.ts';
import { readConcernPart } from './concern.ts';

/** The part of `models.json` that others than core-model-gateway need: which models there are, and what they cost. */
const KnownModels = t.strict({
  models: t.record(
    t.string,
    t.strict({
      kind: optional(oneOf(['chat', 'embeddings'])),
      tier: optional(nullable(oneOf(['large', 'small']))),
      limits: optional(
        t.strict({
          context_tokens: optional(nullable(t.number)),
          output_tokens: optional(nullable(t.number)),
        }),
      ),
      upstreams: t.array(
        t.strict({
          kind: optional(t.string),
          credential: optional(nullable(t.string)),
          price: optional(
            nullable(t.strict({ input: t.number, output: t.number, cached: optional(nullable(t.number)) })),
          ),
        }),
      ),
    }),
  ),
});

export interface KnownModel {
  readonly name: string;
  readonly kind: 'chat' | 'embeddings';
  readonly tier: 'large' | 'small' | null;
  /** Tokens that input and answer have room in; null: not configured. */
  readonly context_tokens: number | null;
  /** Tokens of one answer; null is no limit. */
  readonly output_tokens: number | null;
  /** US dollars for a million tokens at its first upstream; null: it costs nothing. */
  readonly price: { readonly input: number; readonly output: number; readonly cached: number } | null;
  /** Of its upstreams: the wire that each speaks. */
  readonly upstream_kinds: readonly string[];
  /** US dollars for a million tokens of output at its dearest upstream, which is what the gateway sets aside. */
  readonly most_output_price: number;
}

/** Names of the secret files that models need. @throws InvalidInput (`config_invalid`) */
export function secretsOfModels(folders: Pick<Folders, 'config'>): readonly string[] {
  const upstreams = Object.values(readModels(folders)).flatMap((model) => model.upstreams);
  const named = upstreams.flatMap(({ credential }) => (credential == null ? [] : [credential]));
  return [...new Set(named)];
}

function readModels(folders: Pick<Folders, 'config'>): t.TypeOf<typeof KnownModels>['models'] {
  return readConcernPart(KnownModels, 'models', folders).models;
}

/** In the order in which they are configured. @throws InvalidInput (`config_invalid`) */
export function readKnownModels(folders: Pick<Folders, 'config'>): KnownModel[] {
  return Object.entries(readModels(folders)).map(
    ([name, { kind = 'chat', tier = null, limits, upstreams }]) => {
      const price = upstreams[0]?.price ?? null;
      return {
        name,
        kind,
        tier,
        context_tokens: limits?.context_tokens ?? null,
        output_tokens: limits?.output_tokens ?? null,
        upstream_kinds: upstreams.map((upstream) => upstream.kind ?? 'openai'),
        most_output_price: Math.max(...upstreams.map((upstream) => upstream.price?.output ?? 0)),
        price: price === null ? null : { ...price, cached: price.cached ?? price.input },
      };
    },
  );
}

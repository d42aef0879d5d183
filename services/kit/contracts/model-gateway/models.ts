import * as t from 'io-ts';
import { nullable } from '../../decode.ts';

/** `GET /v1/models/{id}`: a model as clients see it. */
export const ModelFacts = t.strict({
  id: t.string,
  object: t.literal('model'),
  created: t.number,
  owned_by: t.string,
  kind: t.string,
  tier: nullable(t.string),
  limits: t.strict({ context_tokens: nullable(t.number), output_tokens: nullable(t.number) }),
});
export type ModelFacts = t.TypeOf<typeof ModelFacts>;

/** `GET /v1/models`. */
export const ModelList = t.strict({ object: t.literal('list'), data: t.array(ModelFacts) });

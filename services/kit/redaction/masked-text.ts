import * as t from 'io-ts';
import { leafSchemas, stringThat } from '../decode.ts';
import { findSecrets, maskSpans, secretSpans } from './find-secrets.ts';
import { proseRules } from './secret-rules.ts';

/** What people write, with a mark in place of each detected secret, released ones included. */
export function maskedText(text: string): string {
  return maskSpans(text, secretSpans(text, proseRules));
}

/** How a text of a request keeps secrets out: by a mask, or by a refusal. */
export type SecretRuling = 'masked' | 'refused';

const rulings = new WeakMap<t.Mixed, SecretRuling>();

/** null for a codec that lets every text through. */
export function secretRuling(codec: t.Mixed): SecretRuling | null {
  return rulings.get(codec) ?? null;
}

/** What `codec` accepts, its secrets masked when it is decoded: for what people write, which is stored and shown. */
export function textMasked(codec: t.Type<string>): t.Type<string> {
  return ruled(codec, 'masked', (text) => t.success(maskedText(text)));
}

/** What `codec` accepts, unless it holds a secret: for names and ids, since a masked one would name something else. */
export function withoutSecrets(codec: t.Type<string>): t.Type<string> {
  return ruled(codec, 'refused', (text, context) => {
    const [found] = findSecrets(text);
    return found === undefined
      ? t.success(text)
      : t.failure(maskedText(text), context, `must hold no secret (${found.kind}): it names something`);
  });
}

/** What `codec` accepts. Its user refuses a secret that nobody released: a masked task or note would ask for something else. */
export function secretsRefusedInUse(codec: t.Type<string>): t.Type<string> {
  return ruled(codec, 'refused', (text) => t.success(text));
}

/** Compared with a text that is known, and neither stored nor shown. */
export const ComparedText = stringThat('ComparedText', 'a string', () => true);

function ruled(
  codec: t.Type<string>,
  ruling: SecretRuling,
  rule: (text: string, context: t.Context) => t.Validation<string>,
): t.Type<string> {
  const made = new t.Type<string>(
    codec.name,
    codec.is,
    (value, context) => {
      const text = codec.validate(value, context);
      return text._tag === 'Left' ? text : rule(text.right, context);
    },
    t.identity,
  );
  leafSchemas.set(made, leafSchemas.get(codec) ?? { type: 'string' });
  rulings.set(made, ruling);
  return made;
}

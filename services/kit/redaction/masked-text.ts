import * as t from 'io-ts';
import { leafSchemas } from '../decode.ts';
import { maskSpans, secretSpans } from './find-secrets.ts';
import { proseRules } from './secret-rules.ts';

/** What people write, with a mark in place of each detected secret, released ones included. */
export function maskedText(text: string): string {
  return maskSpans(text, secretSpans(text, proseRules));
}

/** What `codec` accepts, its secrets masked when it is decoded: for what people write, which is stored and shown. */
export function textMasked(codec: t.Type<string>): t.Type<string> {
  const masked = new t.Type<string>(
    codec.name,
    codec.is,
    (value, context) => {
      const text = codec.validate(value, context);
      return text._tag === 'Left' ? text : t.success(maskedText(text.right));
    },
    t.identity,
  );
  leafSchemas.set(masked, leafSchemas.get(codec) ?? { type: 'string' });
  return masked;
}

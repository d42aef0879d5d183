import * as t from 'io-ts';
import { Scope } from '../tokens/token.ts';

/** `GET /v1/token` of every service: whose token was shown, and what it may do. */
export const ShownToken = t.strict({ name: t.string, scopes: t.array(Scope) });

import * as t from 'io-ts';
import { optional } from '../decode.ts';

/** RFC 9457, `application/problem+json`. `type` is `about:blank`: the stable name of an error is its `code`. */
export const Problem = t.strict({
  type: t.string,
  /** The words of the HTTP status. */
  title: t.string,
  status: t.number,
  detail: optional(t.string),
  /** Path of the request. */
  instance: optional(t.string),
  /** In snake_case; listed on the site. */
  code: t.string,
  errors: optional(t.array(t.strict({ pointer: t.string, detail: t.string }))),
  /** What can be done next. */
  hint: optional(t.string),
  /** Names the request in the service's log. */
  request_id: optional(t.string),
});
export type Problem = t.TypeOf<typeof Problem>;

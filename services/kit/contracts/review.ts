import * as t from 'io-ts';
import { NonEmptyString, optional, Timestamp } from '../decode.ts';

/** Body of `POST /v1/review/links`. */
export const SignInLinkBody = t.strict({
  /** The run whose page is shown after signing in, in any way that names one; left out for the list. */
  run: optional(NonEmptyString),
});

/** A link that signs one browser in to the review page, once, as the one whose token asked. */
export const SignInLink = t.strict({
  /** To be put behind the address of the daemon, as the person reaches it. */
  path: t.string,
  expires_at: Timestamp,
});
export type SignInLink = t.TypeOf<typeof SignInLink>;

/** Answer of `DELETE /v1/review/sessions`. */
export const EndedSessions = t.strict({ ended: t.number });
export type EndedSessions = t.TypeOf<typeof EndedSessions>;

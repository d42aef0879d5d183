import * as t from 'io-ts';
import { NonEmptyString, oneOf, optional, Timestamp } from '../decode.ts';
import { withoutSecrets } from '../redaction/masked-text.ts';
import { Account } from './account.ts';

/** Body of `POST /v1/review/links`. */
export const SignInLinkBody = t.strict({
  /** The run whose page is shown after signing in, in any way that names one; left out for the list. */
  run: optional(withoutSecrets(NonEmptyString)),
});

/** A link that signs one browser in to the review page, once, as the one whose token asked. */
export const SignInLink = t.strict({
  /** To be put behind the address of the daemon, as the person reaches it. */
  path: t.string,
  expires_at: Timestamp,
});
export type SignInLink = t.TypeOf<typeof SignInLink>;

/** Answer of `DELETE /v1/review/sessions`, and of one of them. */
export const EndedSessions = t.strict({ ended: t.number });
export type EndedSessions = t.TypeOf<typeof EndedSessions>;

/** A browser that is signed in to the review page. */
export const ReviewSession = t.strict({
  id: t.string,
  /** Name of the token or account. */
  name: t.string,
  /** By a link of a token, or at the identity provider. */
  by: oneOf(['link', 'provider']),
  /** Left out of a link. */
  account: optional(Account),
  /** Of oidc.json, that the account had when it signed in; left out of a link. */
  groups: optional(t.array(t.string)),
  scopes: t.array(t.string),
  created: Timestamp,
  expires: Timestamp,
});
export type ReviewSession = t.TypeOf<typeof ReviewSession>;

/** Answer of `GET /v1/review/sessions`. */
export const ReviewSessions = t.strict({ sessions: t.array(ReviewSession) });
export type ReviewSessions = t.TypeOf<typeof ReviewSessions>;

import type * as client from 'openid-client';
import { CoreError, Forbidden, messageOf, Refused, Unavailable } from '#kit/errors.ts';
import type { OidcSettings } from './configuration.ts';

/** What went wrong at the end of a sign-in, as people are told. @param error of the library, or one of ours */
export function signInError(
  error: unknown,
  { name }: Pick<OidcSettings, 'name'>,
  library: typeof client,
): unknown {
  if (error instanceof CoreError) return error;
  if (error instanceof library.AuthorizationResponseError)
    return new Forbidden('sign_in_refused', `${name} did not sign you in: ${answered(error)}`, {
      cause: error,
      hint: 'Sign in again; whoever runs the provider knows more.',
    });
  // Over basic authentication, a wrong secret is answered with a challenge.
  const isChallenge = error instanceof library.WWWAuthenticateChallengeError;
  if (isChallenge || error instanceof library.ResponseBodyError) {
    const words = isChallenge ? `it answered ${error.status} to the credentials of Core` : answered(error);
    return new Refused('identity_client_refused', `${name} refused Core the sign-in: ${words}`, {
      cause: error,
      hint: 'Sign in again. If that does not help, client_id, client_secret_file or address of oidc.json differ from what is registered there.',
    });
  }
  const failed = causesOf(error);
  if (failed.some((one) => one instanceof library.ClientError && isOfAnswer(one.code)))
    return new Forbidden(
      'sign_in_invalid',
      `what ${name} answered is no proof of who you are: ${wordsOf(error)}`,
      {
        cause: error,
        hint: 'Sign in again. If that does not help, issuer and client_id of oidc.json or a clock may be wrong.',
      },
    );
  return unavailable(`${name} does not answer: ${wordsOf(error)}`, error);
}

export function unavailable(message: string, cause: unknown): Unavailable {
  return new Unavailable('identity_provider_unavailable', message, {
    cause,
    hint: 'Until it answers, a link of ./core review signs in.',
  });
}

/** Whether the library refused an answer for what it says, in place of getting none. */
function isOfAnswer(code: string | undefined): boolean {
  return (
    code !== undefined && !['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM'].includes(code)
  );
}

function answered({
  error,
  error_description,
}: {
  readonly error: string;
  readonly error_description?: string | undefined;
}): string {
  return [error, error_description]
    .filter((text) => text !== undefined)
    .join(': ')
    .slice(0, 300);
}

function causesOf(error: unknown): readonly unknown[] {
  const causes: unknown[] = [];
  for (let one = error; one instanceof Error && causes.length < 5; one = one.cause) causes.push(one);
  return causes;
}

/** The error and what it comes from; those of a connection say nothing themselves. */
export function wordsOf(error: unknown): string {
  const words = causesOf(error).map(
    (one) => messageOf(one) || String((one as { code?: unknown }).code ?? ''),
  );
  return [...new Set(words.filter((text) => text !== ''))].join(': ').slice(0, 300) || messageOf(error);
}

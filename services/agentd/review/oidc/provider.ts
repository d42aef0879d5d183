import type * as client from 'openid-client';
import { type Account, isAmong } from '#kit/contracts/account.ts';
import type { Environment } from '#kit/environment.ts';
import { CoreError } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { type Connections, openConnections } from '#kit/http/client.ts';
import { once } from '#kit/once.ts';
import type { Scope } from '#kit/tokens/tokens.ts';
import type { Attempt } from '../sign-in-store.ts';
import { type Claims, groupsOf, isIncomplete, scopesOf, shownNameOf } from './claims.ts';
import { type OidcSettings, readClientSecret } from './configuration.ts';
import { signInError, unavailable, wordsOf } from './provider-errors.ts';

/** Milliseconds for which what the provider says about itself is good. */
const metadataMs = 10 * 60_000;
const maxAnswerBytes = 1024 * 1024;

export const callbackPath = '/sign-in/callback';

export interface ProviderOptions {
  /** As configured now; null where no provider is. */
  readonly settings: () => OidcSettings | null;
  /** Who may not sign in, as configured now. */
  readonly revoked: () => readonly Account[];
  readonly folders: Pick<Folders, 'secrets'>;
  readonly proxies: Pick<Environment, 'HTTP_PROXY' | 'HTTPS_PROXY' | 'NO_PROXY'>;
  /** Milliseconds for each answer. */
  readonly timeoutMs: number;
  readonly now?: () => number;
}

/** Somebody whom the provider signed in. */
export interface SignedInPerson {
  readonly account: Account;
  /** What people call them. */
  readonly shown: string;
  readonly groups: readonly string[];
}

interface Metadata {
  readonly of: string;
  readonly at: number;
  readonly document: client.ServerMetadata;
}

/**
 * The OpenID provider that signs people in. `openid-client` because it is certified, is kept by the author of `jose`, which it is made
 * of, and has no further dependency.
 */
export class IdentityProvider {
  readonly #options: ProviderOptions;
  readonly #now: () => number;
  readonly #library = once(() => import('openid-client'));
  #connections: Connections | null = null;
  #metadata: Metadata | null = null;
  #asking: { readonly of: string; readonly answer: Promise<client.ServerMetadata> } | null = null;
  /** Why it did not answer the last time; null where it did. */
  #problem: string | null = null;

  constructor(options: ProviderOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  get settings(): OidcSettings | null {
    return this.#options.settings();
  }

  /** Why it did not answer when it was asked last; null where it did, or nobody asked. */
  get problem(): string | null {
    return this.#problem;
  }

  isRevoked(account: Account): boolean {
    return isAmong(account, this.#options.revoked());
  }

  /** What an account of these groups may do now. */
  scopesOf(account: Account, groups: readonly string[]): readonly Scope[] {
    const { settings } = this;
    if (settings?.issuer !== account.issuer || this.isRevoked(account)) return [];
    return scopesOf(groups, settings);
  }

  /** Where a browser signs in. @throws Unavailable (`identity_provider_unavailable`) */
  async address(settings: OidcSettings, { nonce, verifier }: Attempt, state: string): Promise<string> {
    const [library, configuration] = await Promise.all([this.#library(), this.#configuration(settings)]);
    return library.buildAuthorizationUrl(configuration, {
      redirect_uri: `${settings.address}${callbackPath}`,
      response_type: 'code',
      scope: settings.scopes.join(' '),
      state,
      nonce,
      code_challenge: await library.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).href;
  }

  /**
   * Who came back from the provider, by its answer. Keys are fetched for each answer, so that a provider may change them at any time.
   * @param search the query of the callback as it came
   * @throws Forbidden (`sign_in_refused`, `sign_in_invalid`), Refused (`identity_client_refused`),
   *   Unavailable (`identity_provider_unavailable`)
   */
  async person(
    settings: OidcSettings,
    { nonce, verifier }: Attempt,
    state: string,
    search: string,
  ): Promise<SignedInPerson> {
    const library = await this.#library();
    try {
      const configuration = await this.#configuration(settings);
      const url = new URL(`${settings.address}${callbackPath}?${search}`);
      const tokens = await library.authorizationCodeGrant(configuration, url, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const signed: Claims & { readonly sub: string } = tokens.claims()!;
      const more: Claims =
        isIncomplete(signed, settings) && configuration.serverMetadata().userinfo_endpoint !== undefined
          ? await library.fetchUserInfo(configuration, tokens.access_token, signed.sub)
          : {};
      const claims = { ...more, ...signed };
      return {
        account: { issuer: settings.issuer, subject: signed.sub },
        shown: shownNameOf(claims, settings),
        groups: groupsOf(claims, settings),
      };
    } catch (error) {
      // Its endpoints may have moved.
      this.#metadata = null;
      throw signInError(error, settings, library);
    }
  }

  /** Where a browser is signed out of the provider itself; null where that has no such page or does not answer. */
  async signOutAddress(settings: OidcSettings): Promise<string | null> {
    try {
      const [library, configuration] = await Promise.all([this.#library(), this.#configuration(settings)]);
      if (configuration.serverMetadata().end_session_endpoint === undefined) return null;
      return library.buildEndSessionUrl(configuration, {
        post_logout_redirect_uri: `${settings.address}/signed-out`,
      }).href;
    } catch (error) {
      if (error instanceof CoreError) return null;
      throw error;
    }
  }

  /** Asks the provider. @returns a word for people @throws Unavailable (`identity_provider_unavailable`), InvalidInput (`config_invalid`) */
  async ask(): Promise<string> {
    const { settings } = this;
    if (settings === null) return 'none is configured';
    readClientSecret(settings, this.#options.folders);
    await this.#discover(settings);
    return `${settings.name} answers at ${settings.issuer}`;
  }

  async close(): Promise<void> {
    await this.#connections?.destroy();
  }

  async #configuration(settings: OidcSettings): Promise<client.Configuration> {
    const library = await this.#library();
    const document = await this.#current(settings);
    const made = new library.Configuration(
      document,
      settings.client_id,
      this.#client(settings, library),
      this.#authentication(settings, document, library),
    );
    made[library.customFetch] = this.#fetch;
    made.timeout = this.#options.timeoutMs / 1000;
    // The signature is checked although the token came straight from the provider.
    library.enableNonRepudiationChecks(made);
    if (isPlainHttp(settings)) library.allowInsecureRequests(made);
    return made;
  }

  async #current(settings: OidcSettings): Promise<client.ServerMetadata> {
    const known = this.#metadata?.of === settings.issuer ? this.#metadata : null;
    if (known !== null && this.#now() - known.at < metadataMs) return known.document;
    return this.#discover(settings);
  }

  /** Asked by many at once, it is asked of the provider once. */
  #discover(settings: OidcSettings): Promise<client.ServerMetadata> {
    const { issuer } = settings;
    const asking =
      this.#asking?.of === issuer ? this.#asking : { of: issuer, answer: this.#askMetadata(settings) };
    if (asking !== this.#asking) {
      this.#asking = asking;
      const done = () => {
        if (this.#asking === asking) this.#asking = null;
      };
      asking.answer.then(done, done);
    }
    return asking.answer;
  }

  async #askMetadata(settings: OidcSettings): Promise<client.ServerMetadata> {
    const library = await this.#library();
    try {
      const found = await library.discovery(
        new URL(settings.issuer),
        settings.client_id,
        this.#client(settings, library),
        library.None(),
        {
          [library.customFetch]: this.#fetch,
          timeout: this.#options.timeoutMs / 1000,
          execute: isPlainHttp(settings) ? [library.allowInsecureRequests] : [],
        },
      );
      const document = found.serverMetadata();
      // It is part of who an account is, down to a slash at its end.
      if (document.issuer !== settings.issuer)
        throw new Error(`it names itself ${document.issuer}, and issuer of oidc.json must be the same`);
      this.#metadata = { of: settings.issuer, at: this.#now(), document };
      this.#problem = null;
      return document;
    } catch (error) {
      const { name, issuer } = settings;
      this.#problem = `${name} does not answer as an OpenID provider at ${issuer}: ${wordsOf(error)}`;
      throw unavailable(this.#problem, error);
    }
  }

  #client(
    { client_id, clock_tolerance_seconds }: OidcSettings,
    { clockTolerance }: typeof client,
  ): Partial<client.ClientMetadata> {
    return { client_id, [clockTolerance]: clock_tolerance_seconds };
  }

  /** As RFC 6749 and the discovery document say: in the header, unless the provider takes the secret in the body alone. */
  #authentication(
    settings: OidcSettings,
    { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] }: client.ServerMetadata,
    { ClientSecretBasic, ClientSecretPost, None }: typeof client,
  ): client.ClientAuth {
    const secret = readClientSecret(settings, this.#options.folders);
    if (secret === null) return None();
    return methods.includes('client_secret_basic') ? ClientSecretBasic(secret) : ClientSecretPost(secret);
  }

  readonly #fetch: client.CustomFetch = async (url, { body, headers, method, signal }) => {
    const { proxies } = this.#options;
    this.#connections ??= openConnections({ proxies, answerLimit: maxAnswerBytes });
    const answer = await this.#connections.fetch(url, {
      method,
      headers,
      ...(body === undefined || body === null ? {} : { body: body as string | URLSearchParams }),
      ...(signal === undefined ? {} : { signal }),
    });
    return answer as unknown as Response;
  };
}

function isPlainHttp({ issuer }: OidcSettings): boolean {
  return issuer.startsWith('http:');
}

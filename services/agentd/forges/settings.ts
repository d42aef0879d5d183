import { isAbsolute, join } from 'node:path';
import * as t from 'io-ts';
import { integerBetween, NonEmptyString, optional, stringThat } from '#kit/decode.ts';
import { type ForgeKind, traitsOf } from '#kit/forges/registry.ts';
import type { ConfiguredForge, ForgeParts, RemoteForgeOptions } from './configured-forge.ts';

/** One kind of forge: what config/forges.json may say of it, and how it is made of that. */
export interface ForgeAdapter<C extends t.Mixed> {
  readonly settings: C;
  create(settings: t.TypeOf<C>, parts: ForgeParts): ConfiguredForge;
}

const ForgeName = stringThat(
  'ForgeName',
  'a short name of lower-case letters, digits and dashes, for example github',
  (text) => /^[a-z][a-z0-9-]{0,39}$/.test(text),
);

const BaseUrl = stringThat(
  'BaseUrl',
  'the http or https URL that people open in a browser, without the path of the API (/api/v3), user, query or fragment, for example https://git.example.org',
  (text) => isPlainUrl(text, /^https?:$/) && !isApiUrl(text),
);

const CloneBaseUrl = stringThat(
  'CloneBaseUrl',
  'an http, https or file URL without user, query or fragment, for example https://clone.example.org',
  (text) => isPlainUrl(text, /^(https?|file):$/),
);

function isPlainUrl(text: string, protocol: RegExp): boolean {
  const url = URL.parse(text);
  return (
    url !== null && protocol.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash
  );
}

/** Addresses of the APIs of GitHub, GitHub Enterprise, Gitea and Forgejo. */
function isApiUrl(text: string): boolean {
  const { hostname, pathname } = new URL(text);
  return hostname === 'api.github.com' || /\/api\/(v\d+|graphql)\/*$/i.test(pathname);
}

/** Of every kind. */
export const commonSettings = {
  /** How `--forge` calls it. */
  name: ForgeName,
  /** As which Core acts; default the owner of the token, `core` in the local forge. */
  account: optional(NonEmptyString),
};

/** Of every kind that is asked over HTTP. */
export const remoteSettings = {
  ...commonSettings,
  /** What people open in a browser; the API's address follows from it. */
  base_url: optional(BaseUrl),
  /** Where git reaches the repositories, when that is not the origin of `base_url`. It gets the token too. */
  clone_base_url: optional(CloneBaseUrl),
  /** With the token; relative to the secrets folder. */
  token_file: optional(NonEmptyString),
  /** Seconds for one request. Default 30. */
  timeout_s: optional(integerBetween(1, 600)),
};
const RemoteSettings = t.strict(remoteSettings);

/** @param settings checked by `checkForgesConfig`: where its kind has no address of its own, there is a `base_url` */
export function remoteOptions(
  kind: ForgeKind,
  settings: t.TypeOf<typeof RemoteSettings>,
  { folders, retry_ms }: ForgeParts,
): RemoteForgeOptions {
  const { name, base_url, clone_base_url = null, token_file, account = null, timeout_s = 30 } = settings;
  return {
    name,
    base_url: base_url ?? traitsOf(kind).default_url!,
    clone_base_url,
    token_file: token_file === undefined ? null : within(folders.secretsDir, token_file),
    account,
    timeout_ms: timeout_s * 1000,
    retry_ms,
  };
}

export function within(folder: string, path: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}

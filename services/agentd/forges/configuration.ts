import * as t from 'io-ts';
import { integerBetween, NonEmptyString, oneOf, optional, stringThat } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';

const ForgeName = stringThat(
  'ForgeName',
  'a short name of lower-case letters, digits and dashes, for example github',
  (text) => /^[a-z][a-z0-9-]{0,39}$/.test(text),
);

const BaseUrl = stringThat(
  'BaseUrl',
  'an http or https URL without user, query or fragment, for example https://git.example.org',
  (text) => {
    const url = URL.parse(text);
    return (
      url !== null &&
      /^https?:$/.test(url.protocol) &&
      !url.username &&
      !url.password &&
      !url.search &&
      !url.hash
    );
  },
);

const CloneBaseUrl = stringThat(
  'CloneBaseUrl',
  'an http, https or file URL without user, query or fragment, for example https://clone.example.org',
  (text) => {
    const url = URL.parse(text);
    return (
      url !== null &&
      /^(https?|file):$/.test(url.protocol) &&
      !url.username &&
      !url.password &&
      !url.search &&
      !url.hash
    );
  },
);

const common = {
  /** How `--forge` calls it. */
  name: ForgeName,
  /** As which Core acts; default the owner of the token, `core` in the local forge. */
  account: optional(NonEmptyString),
};
const remote = {
  ...common,
  /** What people open in a browser; the API's address follows from it. */
  base_url: optional(BaseUrl),
  /** Where git reaches the repositories, when that is not the origin of `base_url`. It gets the token too. */
  clone_base_url: optional(CloneBaseUrl),
  /** With the token; relative to the secrets folder. */
  token_file: optional(NonEmptyString),
  /** Seconds for one request. Default 30. */
  timeout_s: optional(integerBetween(1, 600)),
};

export const ForgeSettings = t.union([
  t.strict({
    ...common,
    /** Which adapter serves it: a folder, github.com or Enterprise, Gitea or Forgejo. */
    kind: oneOf(['local']),
    /** Relative to the state folder. Default `forge`. */
    root: optional(NonEmptyString),
  }),
  t.strict({
    ...remote,
    kind: oneOf(['github']),
    /** false only for an Enterprise server without rate limits. Default true. */
    throttle: optional(t.boolean),
  }),
  t.strict({ ...remote, kind: oneOf(['gitea']) }),
]);
export type ForgeSettings = t.TypeOf<typeof ForgeSettings>;

/** `config/forges.json` */
export const ForgesConfig = t.strict({
  /** Without `--forge` the one that knows owner and repository is used. */
  forges: t.array(ForgeSettings),
});
export type ForgesConfig = t.TypeOf<typeof ForgesConfig>;

/** What a file of the right shape may still lack. @throws InvalidInput (`forges_invalid`) */
export function checkForgesConfig(config: ForgesConfig): ForgesConfig {
  const names = new Set<string>();
  for (const { name, kind, ...rest } of config.forges) {
    if (names.has(name)) {
      throw new InvalidInput('forges_invalid', `two forges in config/forges.json are called '${name}'`);
    }
    names.add(name);
    if (kind === 'gitea' && (!('base_url' in rest) || rest.base_url === undefined)) {
      throw new InvalidInput(
        'forges_invalid',
        `forge '${name}' in config/forges.json needs a base_url, for example https://git.example.org`,
      );
    }
    if ('clone_base_url' in rest && rest.clone_base_url !== undefined) {
      const base = rest.base_url ?? 'https://github.com';
      if (!base.startsWith('https:') || !rest.clone_base_url.startsWith('http:')) continue;
      throw new InvalidInput(
        'forges_invalid',
        `forge '${name}' in config/forges.json has clone_base_url '${rest.clone_base_url}', which would send its token without TLS although base_url is https; it must be https too`,
      );
    }
  }
  if (names.size > 0) return config;
  throw new InvalidInput('forges_invalid', 'config/forges.json names no forge; it needs at least one');
}

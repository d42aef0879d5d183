import { existsSync } from 'node:fs';
import { InvalidInput, messageOf, Refused, Unauthorized } from '#kit/errors.ts';
import { readSmallFile } from '#kit/small-file.ts';
import type { Account } from '../ports/forge.ts';
import type { RemoteForgeOptions } from './configured-forge.ts';

/** A forge's access token, read from its file each time it is used, so that a new token needs no restart. */
export class TokenFile {
  readonly path: string | null;

  constructor(path: string | null) {
    this.path = path;
  }

  exists(): boolean {
    return this.path !== null && existsSync(this.path);
  }

  /** @throws Unauthorized `forge_unauthorized`, which says where a token belongs */
  async need(forge: string): Promise<string> {
    const token = await this.read();
    if (token !== null) return token;
    throw new Unauthorized('forge_unauthorized', `forge '${forge}' needs a token for this`, {
      hint:
        this.path === null
          ? 'name a token_file for it in config/forges.json'
          : `write an access token into ${this.path}`,
    });
  }

  /** null when no file is configured or it is not there: the forge then answers as to a stranger. */
  async read(): Promise<string | null> {
    if (this.path === null) return null;
    let text: string;
    try {
      text = readSmallFile(this.path);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw new Unauthorized(
        'forge_token_unreadable',
        `token file '${this.path}' cannot be read: ${messageOf(cause)}`,
        { cause },
      );
    }
    const token = text.trim();
    if (/^[\x21-\x7e]{1,4096}$/.test(token)) return token;
    throw new InvalidInput(
      'forge_token_invalid',
      `token file '${this.path}' must hold one token and nothing else; it is empty or has spaces or line breaks inside`,
    );
  }
}

/** The account that the token belongs to, asked once for each token that its file ever held. */
export class OwnAccount {
  readonly #token: TokenFile;
  readonly #options: RemoteForgeOptions;
  readonly #ask: (signal?: AbortSignal) => Promise<Account>;
  #known: { readonly token: string; readonly account: Account } | undefined;

  constructor(
    token: TokenFile,
    options: RemoteForgeOptions,
    ask: (signal?: AbortSignal) => Promise<Account>,
  ) {
    this.#token = token;
    this.#options = options;
    this.#ask = ask;
  }

  /** @throws Unauthorized `forge_unauthorized`, Refused `forge_account_differs` */
  async get(signal?: AbortSignal): Promise<Account> {
    const token = await this.#token.need(this.#options.name);
    if (this.#known?.token === token) return this.#known.account;
    const account = await this.#ask(signal);
    this.check(account);
    this.#known = { token, account };
    return account;
  }

  /** @throws Refused `forge_account_differs` */
  check(account: Pick<Account, 'login'>): void {
    const { name, account: expected } = this.#options;
    if (expected !== null && expected.toLowerCase() !== account.login.toLowerCase()) {
      throw new Refused(
        'forge_account_differs',
        `the token of forge '${name}' in ${this.#token.path} belongs to ${account.login}; account in config/forges.json is ${expected}`,
        { hint: 'correct one of the two' },
      );
    }
  }
}

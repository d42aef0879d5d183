import { Refused } from '#kit/errors.ts';
import type { Account } from '../ports/forge.ts';
import type { RemoteForgeOptions } from './configured-forge.ts';
import type { TokenFile } from './token-file.ts';

/** The account that the token belongs to, asked once for each token that its file ever held. */
export class OwnAccount {
  readonly #token: TokenFile;
  readonly #options: Pick<RemoteForgeOptions, 'name' | 'account'>;
  readonly #ask: (signal?: AbortSignal) => Promise<Account>;
  #known: { readonly token: string; readonly account: Account } | undefined;

  constructor(
    token: TokenFile,
    options: Pick<RemoteForgeOptions, 'name' | 'account'>,
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

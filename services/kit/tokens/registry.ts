import type { Tokens } from './check-tokens.ts';
import type { TokenRecord } from './token.ts';
import type { MadeToken, NewToken, RotateToken } from './tokens.ts';

/** All tokens of an installation: those of one machine's registry.json, or of a database that several hosts share. */
export interface TokenRegistry extends Tokens {
  /** For people, the database's name; null where the registry is a file of this machine. */
  readonly shared: string | null;
  /**
   * Its text is in its file on this host, and it counts on every one.
   * @throws Conflict (`token_exists`, `token_file_unknown`), InvalidInput (`token_name_invalid` …), Unavailable
   */
  create(token: NewToken): Promise<MadeToken>;
  /**
   * Gives a token a new text, in its file on this host. Its approvals still count.
   * @throws NotFound (`token_not_found`), Conflict (`token_not_in_force`, `token_file_unknown`), Unavailable: it is completed later
   */
  rotate(token: RotateToken): Promise<MadeToken>;
  /**
   * @param host whose, of a service that has one on each host; left out, this one's
   * @throws NotFound (`token_not_found`), Unavailable
   */
  revoke(name: string, host?: string): Promise<RevokedToken>;
  close(): Promise<void>;
}

export interface RevokedToken {
  readonly record: TokenRecord;
  /** Hosts on which a token of the same name is still in force. */
  readonly elsewhere: readonly string[];
}

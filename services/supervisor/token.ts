import type { Display } from '#kit/cli/display.ts';
import { printText } from '#kit/cli/output.ts';
import { type Column, tableLines } from '#kit/cli/table.ts';
import { environment } from '#kit/environment.ts';
import { exitCodes, InvalidInput } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import {
  createToken,
  openTokens,
  revokeToken,
  type Scope,
  scopes,
  type TokenRecord,
} from '#kit/tokens/tokens.ts';

interface TokenOptions {
  readonly home?: string | undefined;
  readonly json?: boolean;
  readonly display: Display;
  readonly stdout?: NodeJS.WritableStream;
}

/** `core token create|list|revoke`. */
export const tokenCommands = { create, list, revoke };

/** The text is in its file and is not printed: what a terminal shows is kept in logs and scrollback. */
function create(
  options: TokenOptions & {
    readonly name: string;
    /** Comma-separated. */
    readonly scopes: string;
    /** Days until it expires; left out, it does not. */
    readonly days?: string | undefined;
  },
): number {
  const folders = resolveFolders({ home: options.home }, environment);
  const expires = options.days === undefined ? null : inDays(options.days);
  const { record, path } = createToken(folders, {
    name: options.name,
    scopes: parseScopes(options.scopes),
    expires,
  });
  const until = record.expires === null ? '' : ` until ${record.expires}`;
  return print(options, { ...shown(record), path }, [
    `token ${record.name} may ${record.scopes.join(', ')}${until}`,
    `its text is in ${path}, readable by you alone`,
  ]);
}

const columns: readonly Column[] = [
  { title: '' },
  { title: '' },
  { title: '', gives: { turn: 2, to: 'gone' } },
  { title: '', gives: { turn: 1, to: 16 }, excess: 'wrap' },
];

function list(options: TokenOptions): number {
  const records = openTokens(resolveFolders({ home: options.home }, environment)).list();
  const rows = records.map((record) => {
    const { name, created, scopes: allowed } = record;
    return [name, shown(record).state, created.slice(0, 10), allowed.join(', ')];
  });
  const lines = tableLines(columns, rows, options.display);
  const none = ['no tokens yet; the first command that needs one makes yours'];
  return print(options, { tokens: records.map(shown) }, lines.length === 0 ? none : lines);
}

function revoke(options: TokenOptions & { readonly name: string }): number {
  const record = revokeToken(resolveFolders({ home: options.home }, environment), options.name);
  return print(options, shown(record), [
    `token ${record.name} opens nothing any more; running services know at once`,
  ]);
}

function print(
  { json = false, display, stdout = process.stdout }: TokenOptions,
  result: object,
  lines: readonly string[],
): number {
  if (json) stdout.write(`${JSON.stringify(result)}\n`);
  else printText(`${lines.join('\n')}\n`, display, stdout);
  return exitCodes.done;
}

function shown({ name, kind, scopes: allowed, created, expires, revoked }: TokenRecord) {
  const expired = expires !== null && Date.parse(expires) <= Date.now();
  const state = revoked !== null ? 'revoked' : expired ? 'expired' : 'in force';
  return { name, kind, scopes: allowed, created, expires, revoked, state };
}

function parseScopes(text: string): Scope[] {
  const names = text.split(',').map((name) => name.trim());
  return [...new Set(names.filter((name) => name !== ''))].map((name) => {
    const scope = scopes.find((known) => known === name);
    if (scope !== undefined) return scope;
    throw new InvalidInput(
      'token_scope_invalid',
      `scope ${JSON.stringify(name)} is unknown: must be one of ${scopes.join(', ')}`,
    );
  });
}

function inDays(text: string): string {
  const days = Number(text);
  if (!/^\d{1,4}$/.test(text) || days < 1) {
    throw new InvalidInput(
      'token_expiry_invalid',
      `${JSON.stringify(text)} is not a number of days from 1 to 9999`,
    );
  }
  return new Date(Date.now() + days * 86_400_000).toISOString();
}

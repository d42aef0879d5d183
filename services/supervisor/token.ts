import type { Display } from '#kit/cli/display.ts';
import { printText } from '#kit/cli/output.ts';
import { type Column, tableLines } from '#kit/cli/table.ts';
import { environment } from '#kit/environment.ts';
import { exitCodes, InvalidInput } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import { openRegistry } from '#kit/tokens/open-registry.ts';
import type { TokenRegistry } from '#kit/tokens/registry.ts';
import { type Scope, scopes, type TokenRecord } from '#kit/tokens/tokens.ts';

interface TokenOptions {
  readonly home?: string | undefined;
  readonly json?: boolean;
  readonly display: Display;
  readonly stdout?: NodeJS.WritableStream;
}

/** `core token create|list|rotate|revoke`. */
export const tokenCommands = { create, list, rotate, revoke };

/** The text is in its file and is not printed: what a terminal shows is kept in logs and scrollback. */
async function create(
  options: TokenOptions & {
    readonly name: string;
    /** Comma-separated. */
    readonly scopes: string;
    /** Days until it expires; left out, it does not. */
    readonly days?: string | undefined;
  },
): Promise<number> {
  const { name, days } = options;
  const allowed = parseScopes(options.scopes);
  const ms = days === undefined ? null : inDays(days);
  const { record, path } = await withRegistry(options, async (registry) => {
    const expires = ms === null ? null : new Date(registry.now() + ms).toISOString();
    return registry.create({ name, scopes: allowed, expires });
  });
  const until = record.expires === null ? '' : ` until ${record.expires}`;
  return print(options, { ...shown(record, Date.parse(record.created)), path }, [
    `token ${record.name} may ${record.scopes.join(', ')}${until}`,
    `its text is in ${path}, readable by you alone`,
  ]);
}

const columns: readonly Column[] = [
  { title: 'token' },
  { title: 'state' },
  { title: 'created', gives: { turn: 2, to: 'gone' } },
  { title: 'expires' },
  { title: 'scopes', gives: { turn: 1, to: 16 }, excess: 'wrap' },
];

async function list(options: TokenOptions): Promise<number> {
  const { records, now } = await withRegistry(options, async (registry) => ({
    records: registry.list(),
    now: registry.now(),
  }));
  const rows = records.map((record) => {
    const { name, kind, host, created, expires, scopes: allowed } = record;
    const whose = host !== undefined && kind === 'service' ? `${name} of ${host}` : name;
    const ends = expires?.slice(0, 10) ?? 'never';
    return [whose, shown(record, now).state, created.slice(0, 10), ends, allowed.join(', ')];
  });
  const lines = tableLines(columns, rows, options.display);
  const none = ['no tokens yet; the first command that needs one makes yours'];
  return print(
    options,
    { tokens: records.map((record) => shown(record, now)) },
    rows.length === 0 ? none : lines,
  );
}

async function revoke(
  options: TokenOptions & { readonly name: string; readonly host?: string | undefined },
): Promise<number> {
  const { name, host } = options;
  const { record, elsewhere, now } = await withRegistry(options, async (registry) => ({
    ...(await registry.revoke(name, host)),
    now: registry.now(),
  }));
  const left = elsewhere.length === 0 ? [] : [`still in force: ${name} of ${elsewhere.join(', ')}`];
  return print(options, { ...shown(record, now), elsewhere }, [
    `token ${record.name} is revoked. Running services no longer accept it.`,
    'Its approvals no longer count, even if you create a token with this name again. Approve the actions that you still want again.',
    ...left,
  ]);
}

/** Like `create`; what the token approved still counts. */
async function rotate(
  options: TokenOptions & {
    readonly name: string;
    /** Days until it expires; left out, it expires when it would have. */
    readonly days?: string | undefined;
  },
): Promise<number> {
  const { name, days } = options;
  const ms = days === undefined ? null : inDays(days);
  const { record, path, now } = await withRegistry(options, async (registry) => {
    const expires = ms === null ? {} : { expires: new Date(registry.now() + ms).toISOString() };
    return { ...(await registry.rotate({ name, ...expires })), now: registry.now() };
  });
  const until = record.expires === null ? '' : ` until ${record.expires}`;
  return print(options, { ...shown(record, now), path }, [
    `token ${record.name} has a new text${until}. Its approvals still count.`,
    `The text is in ${path}, which only you can read. The old text is no longer accepted, and browsers that it signed in are signed out.`,
  ]);
}

async function withRegistry<T>(
  { home }: TokenOptions,
  work: (registry: TokenRegistry) => Promise<T>,
): Promise<T> {
  const registry = await openRegistry(resolveFolders({ home }, environment));
  try {
    // A database that does not answer is reported before anything is changed.
    registry.list();
    return await work(registry);
  } finally {
    await registry.close();
  }
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

function shown(
  { name, kind, scopes: allowed, sha256, host, created, expires, revoked, former = [] }: TokenRecord,
  now: number,
) {
  const expired = expires !== null && Date.parse(expires) <= now;
  const state = revoked !== null ? 'revoked' : expired ? 'expired' : 'in force';
  return {
    name,
    kind,
    scopes: allowed,
    created,
    expires,
    revoked,
    state,
    sha256,
    former,
    ...(host === undefined ? {} : { host }),
  };
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

/** Milliseconds. */
function inDays(text: string): number {
  const days = Number(text);
  if (!/^\d{1,4}$/.test(text) || days < 1) {
    throw new InvalidInput(
      'token_expiry_invalid',
      `${JSON.stringify(text)} is not a number of days from 1 to 9999`,
    );
  }
  return days * 86_400_000;
}

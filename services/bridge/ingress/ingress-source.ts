import { parseJson } from '#kit/decode.ts';
import { Forbidden, InvalidInput, Unauthorized } from '#kit/errors.ts';
import type { WebhookForge } from '#kit/forges/registry.ts';
import type { Identity } from '#kit/tokens/tokens.ts';
import type { SecretFile } from '#kit/webhooks/secret-file.ts';
import type { NewEvent, Reason } from '../queue/stored-event.ts';
import type { RoleChoice } from '../targets/role-map.ts';
import type { FoundTarget } from '../targets/target.ts';

/** What came over HTTP, before anybody looked into it. */
export interface IngressRequest {
  readonly body: Buffer;
  /** @param name in lower case */
  header(name: string): string | undefined;
  /** Of a token that came with it. */
  readonly identity: Identity | null;
}

/** An event of an issue, or why it is none; members that nobody looks at are named for who sent it. */
export type ReadEvent =
  | { readonly event: NewEvent; readonly unknown_members: readonly string[] }
  | IgnoredEvent;

export interface IgnoredEvent {
  readonly event: null;
  readonly code: string;
  readonly message: string;
}

/**
 * A kind of sender: how its requests are signed, and what they say. Nothing of what it reads is a command: of an event it takes
 * which issue it is about and which role works, both from lists of this installation.
 */
export interface IngressSource {
  readonly name: 'dashboard' | WebhookForge;
  /** Headers that it reads, for the description. */
  readonly headers: Readonly<Record<string, string>>;
  /** What the sender can do about a body that is not JSON. */
  readonly typeHint: string;
  /** Why requests with these headers have no effect, whatever their body says; null if they may have one. */
  ignoredBy(headers: Readonly<Record<string, unknown>>): IgnoredEvent | null;
  /**
   * Checks the signature.
   * @throws Unauthorized (`signature_missing`, `signature_invalid`, `signature_expired`)
   */
  authenticate(request: IngressRequest): void;
  /** @param by who brought it @throws InvalidInput */
  read(request: IngressRequest, by: string): ReadEvent;
}

/** Who brought a request: by its token, else by its signature. @throws as `authenticate`, and Forbidden (`scope_missing`) */
export function senderOf(source: IngressSource, request: IngressRequest): string {
  const { identity } = request;
  if (identity === null) {
    source.authenticate(request);
    return `signature:${source.name}`;
  }
  if (identity.scopes.includes('plan')) return `token:${identity.name}`;
  throw new Forbidden(
    'scope_missing',
    `token ${identity.name} has the scopes ${identity.scopes.join(', ')}; this needs plan`,
  );
}

/** The header with the signature. @throws Unauthorized (`signature_missing`) */
export function needSignature(given: string | undefined, header: string): string {
  if (given !== undefined && given !== '') return given;
  throw new Unauthorized(
    'signature_missing',
    `this needs a token of scope plan, or a signature in ${header}`,
    {
      hint: 'Send authorization: Bearer TOKEN, or sign the body with the secret that both sides know.',
    },
  );
}

/** The secrets that sign; none if there are none. @throws Unauthorized (`signature_invalid`), whose cause says what is wrong with them */
export function secretsOf(secret: SecretFile | null, header: string): readonly Uint8Array[] {
  try {
    return secret?.read() ?? [];
  } catch (cause) {
    throw invalidSignature(header, cause);
  }
}

/** The same whatever is wrong with the signature or with our secret: the sender is not known. */
export function invalidSignature(header: string, cause?: unknown): Unauthorized {
  return new Unauthorized('signature_invalid', `${header} is not a valid signature of this request`, {
    cause,
    hint: 'Both sides need the same secret, and the bytes that are sent must be signed. The log of core-bridge and core status say more.',
  });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @throws InvalidInput (`invalid_json`) */
export function jsonOf(body: Uint8Array): unknown {
  let text: string;
  try {
    text = utf8.decode(body);
  } catch (cause) {
    throw new InvalidInput('invalid_json', 'the body is not JSON: it is not UTF-8', { cause });
  }
  return parseJson(text, 'the body');
}

/** An event with what was found out about it; without a target, or a role that plans, it is one to skip. */
export function planned({
  found,
  choice,
  skip = null,
  ...event
}: Omit<NewEvent, 'target' | 'role' | 'skip' | 'notes'> & {
  readonly found: FoundTarget;
  readonly choice: RoleChoice;
  /** Why else not. */
  readonly skip?: Reason | null;
}): NewEvent {
  const { role, plans, note } = choice;
  const noTarget = found.target === null ? { code: found.code, message: found.message } : null;
  const noPlan = plans
    ? null
    : { code: 'role_does_not_plan', message: `role ${role.name} may propose nothing, so it plans nothing` };
  return {
    ...event,
    target: found.target,
    role,
    skip: noTarget ?? noPlan ?? skip,
    notes: note === null ? [] : [note],
  };
}

import { isObject } from '../usage.ts';

export interface RequestChange {
  /** Its name at the upstream. */
  readonly model: string;
  /** Adds `stream_options.include_usage`. */
  readonly askUsage: boolean;
  /** Limits the answer by the member that the upstream reads, whichever the client wrote; what it wrote is at most as much. */
  readonly outputLimit?: { readonly member: LimitMember; readonly tokens: number } | null;
}

export type LimitMember = 'max_tokens' | 'max_completion_tokens';

/** What Node's types do not have yet. Source: the TC39 proposal "JSON.parse source text access". */
const { parse, rawJSON } = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(source: string): object;
};

/**
 * The body of a request with another model and, where asked, the usage of streams and a limit of output. Everything else goes
 * through: unknown members, their order, and numbers to their last digit.
 * @param bytes a JSON object
 */
export function rewriteRequest(bytes: Buffer, change: RequestChange): Buffer {
  const request = parse(bytes.toString(), exactNumber) as Record<string, unknown>;
  const { model, askUsage, outputLimit = null } = change;
  const options = isObject(request.stream_options) ? request.stream_options : {};
  const changed = {
    ...request,
    model,
    ...(askUsage && { stream_options: { ...options, include_usage: true } }),
    ...(outputLimit !== null && limitOutput(request, outputLimit)),
  };
  return Buffer.from(JSON.stringify(changed));
}

/** A number that JavaScript would write in another way, as it was written. */
function exactNumber(_key: string, value: unknown, { source }: { source?: string }): unknown {
  return typeof value === 'number' && String(value) !== source ? rawJSON(source!) : value;
}

/** Servers refuse both members at once, or read only one of them: the value moves to the name that is read. */
function limitOutput(
  request: Readonly<Record<string, unknown>>,
  { member, tokens }: NonNullable<RequestChange['outputLimit']>,
): Record<string, unknown> {
  if (request[member] != null) return {};
  const other = member === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  return { [other]: undefined, [member]: request[other] ?? tokens };
}

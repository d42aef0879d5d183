/** What Node's types do not have yet. Source: the TC39 proposal "JSON.parse source text access". */
const { parse, rawJSON } = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(source: string): object;
};

/**
 * The body of a request with other members. Everything else goes through: unknown members, their order, and numbers to their last
 * digit.
 * @param bytes a JSON object
 * @param change the members that are put in place of those of the request; undefined takes one out
 */
export function rewriteRequest(
  bytes: Buffer,
  change: (request: Record<string, unknown>) => Record<string, unknown>,
): Buffer {
  const request = parse(bytes.toString(), exactNumber) as Record<string, unknown>;
  return Buffer.from(JSON.stringify({ ...request, ...change(request) }));
}

/** A number that JavaScript would write in another way, as it was written. */
function exactNumber(_key: string, value: unknown, { source }: { source?: string }): unknown {
  return typeof value === 'number' && String(value) !== source ? rawJSON(source!) : value;
}

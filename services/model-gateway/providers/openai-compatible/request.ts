import { type Member, type Members, membersOf } from '../../calls/json-members.ts';

interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export interface RequestChange {
  readonly model: string;
  /** Of the request, where they are known already. */
  readonly members?: Members | undefined;
  readonly askUsage: boolean;
  /** Bounds the answer by the member that the upstream reads, whichever the client wrote; what it wrote is at most as much. */
  readonly outputLimit?: { readonly member: LimitMember; readonly tokens: number } | null;
}

export type LimitMember = 'max_tokens' | 'max_completion_tokens';

/**
 * The body of a request with another model and, where asked, `stream_options.include_usage` and a limit of output. All other bytes stay as they are:
 * unknown members, numbers of any length, order and white space.
 * @param bytes a JSON object with at least a `model`
 */
export function rewriteRequest(bytes: Buffer, change: RequestChange): Buffer {
  const { members, end } = change.members ?? membersOf(bytes);
  const model = JSON.stringify(change.model);
  const splices: Splice[] = members
    .filter(({ key }) => key === 'model')
    .map(({ start, end }) => ({ start, end, text: model }));
  if (change.askUsage) splices.push(...askUsage(bytes, members, end));
  if (change.outputLimit != null) splices.push(...limitOutput(bytes, members, end, change.outputLimit));
  return spliced(bytes, splices);
}

/** Servers refuse both members at once, or read but one of them: what is there goes by the name that is read. */
function limitOutput(
  bytes: Buffer,
  members: readonly Member[],
  end: number,
  { member, tokens }: NonNullable<RequestChange['outputLimit']>,
): Splice[] {
  // 0x6e begins null
  const isSet = ({ start }: Member) => bytes[start] !== 0x6e;
  const own = members.find(({ key }) => key === member);
  if (own !== undefined && isSet(own)) return [];
  const otherName = member === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  const other = members.find((one) => one.key === otherName && isSet(one));
  if (own !== undefined) {
    const set = { start: own.start, end: own.end, text: String(tokens) };
    return other === undefined ? [set] : [set, { start: other.start, end: other.end, text: 'null' }];
  }
  if (other !== undefined)
    return [{ start: other.keyStart, end: other.keyEnd, text: JSON.stringify(member) }];
  return [{ start: end - 1, end: end - 1, text: `,${JSON.stringify(member)}:${tokens}` }];
}

/** Where a key stands twice, the last one counts for most that read JSON; all are changed. */
function askUsage(bytes: Buffer, members: readonly Member[], end: number): Splice[] {
  const given = members.filter(({ key }) => key === 'stream_options');
  if (given.length === 0) {
    return [{ start: end - 1, end: end - 1, text: ',"stream_options":{"include_usage":true}' }];
  }
  return given.flatMap(({ start, end }) => {
    // 0x7b is {
    if (bytes[start] !== 0x7b) return [{ start, end, text: '{"include_usage":true}' }];
    const inner = membersOf(bytes, start).members;
    const asked = inner.filter(({ key }) => key === 'include_usage');
    if (asked.length > 0) return asked.map(({ start, end }) => ({ start, end, text: 'true' }));
    const comma = inner.length > 0 ? ',' : '';
    return [{ start: start + 1, end: start + 1, text: `"include_usage":true${comma}` }];
  });
}

function spliced(bytes: Buffer, splices: readonly Splice[]): Buffer {
  const parts: Buffer[] = [];
  let from = 0;
  for (const { start, end, text } of splices.toSorted((a, b) => a.start - b.start)) {
    parts.push(bytes.subarray(from, start), Buffer.from(text));
    from = end;
  }
  return Buffer.concat([...parts, bytes.subarray(from)]);
}

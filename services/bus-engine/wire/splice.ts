import { repeatedMember } from '#kit/repeated-member.ts';

/**
 * Frames that are passed on as the bytes that came. Most frames have exactly the members that the official SDK writes, in its order;
 * such a frame is known by its first bytes, and when what stands between them and the closing brace is one JSON value, it can have
 * no other member: neither one twice nor one of another name. Everything else gives null and takes the long way, by parsing and
 * writing the whole frame again, with the same result.
 */

const callStart = '{"type":"invokefunction","invocation_id":"';
const resultStart = '{"type":"invocationresult","invocation_id":"';
const idLength = 36;
const functionStart = '","function_id":"';
const dataStart = '","data":';
const resultBefore = '","result":';
/** Longer function ids take the long way. */
const headLength = 320;
const closingBrace = 0x7d;

export interface CallBytes {
  readonly invocationId: string;
  /** As the bytes say: good for looking up ids that `isPlain`, and no others. */
  readonly functionId: string;
  readonly frame: Buffer;
  /** Offset of the value of `data`. */
  readonly dataAt: number;
}

/** The head of a call that nobody has looked into yet. */
export function callOf(frame: Buffer): CallBytes | null {
  if (frame[frame.length - 1] !== closingBrace) return null;
  const head = frame.toString('latin1', 0, headLength);
  if (!head.startsWith(callStart)) return null;
  const functionAt = callStart.length + idLength + functionStart.length;
  if (!head.startsWith(functionStart, callStart.length + idLength)) return null;
  const functionEnd = head.indexOf('"', functionAt);
  if (functionEnd === -1 || !head.startsWith(dataStart, functionEnd)) return null;
  const invocationId = head.slice(callStart.length, callStart.length + idLength);
  if (!isUuid(invocationId)) return null;
  return {
    invocationId,
    functionId: head.slice(functionAt, functionEnd),
    frame,
    dataAt: functionEnd + dataStart.length,
  };
}

/**
 * The pieces of the frame that the callee gets: with the caller's id in `data` where that is an object.
 * @param callerEnd `,"_caller_worker_id":"…"}}`
 * @param callerOnlyEnd the same without the comma
 */
export function callPieces(
  { frame, dataAt }: CallBytes,
  callerEnd: Uint8Array,
  callerOnlyEnd: Uint8Array,
): readonly Uint8Array[] | null {
  const text = frame.toString('utf8', dataAt, frame.length - 1);
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return null;
  }
  if (repeatedMember(text, data) !== null) return null;
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return [frame];
  if (Object.hasOwn(data, '_caller_worker_id')) return null;
  // Behind the brace that closes the object there is white space at most: as many bytes as characters.
  const behind = text.length - text.lastIndexOf('}');
  const open = frame.subarray(0, frame.length - 1 - behind);
  return [open, isEmpty(data) ? callerOnlyEnd : callerEnd];
}

/** The id in the first bytes of a result; null where they are others. */
export function resultIdOf(frame: Buffer): string | null {
  if (frame[9] !== 0x69 || frame[13] !== 0x63 || frame[frame.length - 1] !== closingBrace) return null;
  const head = frame.toString('latin1', 0, resultStart.length + idLength);
  return head.startsWith(resultStart) ? head.slice(resultStart.length) : null;
}

/** What follows the id in a result of this function; null for ids that are not written as they are. */
export function resultMiddle(functionId: string): string | null {
  return isPlain(functionId) ? `${functionStart}${functionId}${resultBefore}` : null;
}

/** Whether nothing but that result stands in the frame. @param middle of `resultMiddle` */
export function isWholeResult(frame: Buffer, middle: string): boolean {
  const at = resultStart.length + idLength;
  const from = at + middle.length;
  if (frame.toString('latin1', at, from) !== middle) return false;
  try {
    const text = frame.toString('utf8', from, frame.length - 1);
    return repeatedMember(text, JSON.parse(text)) === null;
  } catch {
    return false;
  }
}

/** Printable ASCII without what JSON escapes. */
export function isPlain(id: string): boolean {
  return /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(id);
}

function isEmpty(object: object): boolean {
  for (const _key in object) return false;
  return true;
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);
}

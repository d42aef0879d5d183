/**
 * Text frames of a server (RFC 6455, section 5.2): never masked, never in pieces. `ws` writes two chunks for each message; a relay of
 * small messages spends most of its time there, so that frames of one turn are put together here.
 */
const finalText = 0x81;

export function headerLength(payload: number): number {
  if (payload < 126) return 2;
  return payload < 65_536 ? 4 : 10;
}

/** Gives the offset behind it. */
export function writeHeader(target: Buffer, offset: number, payload: number): number {
  target[offset] = finalText;
  if (payload < 126) {
    target[offset + 1] = payload;
    return offset + 2;
  }
  if (payload < 65_536) {
    target[offset + 1] = 126;
    return target.writeUInt16BE(payload, offset + 2);
  }
  target[offset + 1] = 127;
  target.writeUInt32BE(Math.floor(payload / 2 ** 32), offset + 2);
  return target.writeUInt32BE(payload >>> 0, offset + 6);
}

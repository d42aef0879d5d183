import { UnexpectedAnswer } from './failures.ts';

const largestError = 64 * 1024;
const largestAnswer = 16 * 1024 * 1024;
const newline = 0x0a;

/**
 * An answer that ends with an error where it has too many bytes, counted after its decompression: the provider holds whole
 * answers, whole errors and whole events in memory. A stream may have any number of events.
 * @param heard called for each piece
 */
export function boundedBody(
  body: ReadableStream,
  kind: 'error' | 'whole' | 'stream',
  heard: () => void,
): ReadableStream {
  const limit = kind === 'error' ? largestError : largestAnswer;
  let size = 0;
  let lineIsEmpty = true;
  return body.pipeThrough(
    new TransformStream({
      transform(piece: Uint8Array, controller) {
        heard();
        size += piece.length;
        if (kind === 'stream') {
          const end = lastEventEnd(piece, lineIsEmpty);
          if (end !== null) size = piece.length - end;
          lineIsEmpty = piece.at(-1) === newline;
        }
        if (size <= limit) return controller.enqueue(piece);
        const what = kind === 'stream' ? 'an event' : kind === 'whole' ? 'an answer' : 'an error';
        throw new UnexpectedAnswer(`sent ${what} of more than ${limit} bytes`);
      },
    }),
  );
}

/** Past the last empty line; a carriage return counts as nothing. */
function lastEventEnd(piece: Uint8Array, lineIsEmpty: boolean): number | null {
  for (
    let at = piece.lastIndexOf(newline);
    at !== -1;
    at = at === 0 ? -1 : piece.lastIndexOf(newline, at - 1)
  ) {
    let before = at - 1;
    if (piece[before] === 0x0d) before--;
    if (before < 0 ? lineIsEmpty : piece[before] === newline) return at + 1;
  }
  return null;
}

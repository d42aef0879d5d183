import { Transform } from 'node:stream';
import { Failed } from '#kit/errors.ts';

const maxBytes = 1024 * 1024 * 1024;
const maxForeignLines = 1_000;
const maxForeignText = 400;
const [newline, openBrace] = [0x0a, 0x7b];

/**
 * Lets the lines through that can be messages of JSON-RPC. Programs print other things on the same stream: those lines are handed
 * to `onForeign`, cut, and go no further.
 * @throws Failed (`agent_flooded`) as the stream's error, past a bound of bytes or of other lines
 */
export function messageLines(onForeign: (line: string) => void): Transform {
  let bytes = 0;
  let foreignLines = 0;
  /** null at the beginning of a line. */
  let line: 'message' | 'foreign' | null = null;
  let foreign = '';

  function endLine(): void {
    if (line === 'foreign') {
      foreignLines += 1;
      onForeign(foreign);
    }
    line = null;
    foreign = '';
  }

  return new Transform({
    transform(chunk: Buffer, _, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) return done(flooded(`wrote more than ${maxBytes} bytes`));
      for (let at = 0; at < chunk.length; ) {
        const next = chunk.indexOf(newline, at);
        const end = next < 0 ? chunk.length : next + 1;
        const piece = chunk.subarray(at, end);
        if (line === null && piece.some((byte) => byte > 0x20))
          line = piece.find((byte) => byte > 0x20) === openBrace ? 'message' : 'foreign';
        if (line === 'message') this.push(piece);
        else if (line === 'foreign' && foreign.length < maxForeignText)
          foreign += piece.toString('utf8').slice(0, maxForeignText).trimEnd();
        if (next >= 0) endLine();
        at = end;
      }
      if (foreignLines > maxForeignLines)
        return done(flooded(`wrote more than ${maxForeignLines} lines that are no messages`));
      done();
    },
    flush(done) {
      endLine();
      done();
    },
  });
}

function flooded(what: string): Failed {
  return new Failed(
    'agent_flooded',
    `the agent ${what} of the protocol on its standard output; it was ended`,
  );
}

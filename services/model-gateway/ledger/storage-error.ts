import { CoreError, Failed, messageOf, Unavailable } from '#kit/errors.ts';

/** Result codes of SQLite (sqlite.org/rescode.html); the low byte of an extended one is its primary one. */
const full = 13;
const corrupt = 11;
const notADatabase = 26;

/** What cannot be recorded is not spent: whoever asks is told to come again. */
export function notRecorded(error: unknown): CoreError {
  if (error instanceof CoreError) return error;
  const why = primaryCode(error) === full ? 'its disk is full' : messageOf(error);
  return new Unavailable(
    'ledger_unavailable',
    `the call cannot be put on record, so it is not made: ${why}`,
    {
      cause: error,
      retryAfter: 5,
      hint: 'Make room on the disk of the state folder; the gateway goes on by itself.',
    },
  );
}

/** While it is opened. */
export function cannotOpen(error: unknown, path: string): unknown {
  const code = primaryCode(error);
  if (code === corrupt || code === notADatabase) {
    return new Failed('ledger_damaged', `${path} is damaged: ${messageOf(error)}`, {
      cause: error,
      facts: { path },
      hint: 'Move it away to begin a new ledger; what was used so far is then not counted.',
    });
  }
  if (code === full) {
    return new Unavailable('disk_full', `the disk of ${path} is full: ${messageOf(error)}`, {
      cause: error,
      retryAfter: 30,
      hint: 'Make room, then start again.',
    });
  }
  return error;
}

function primaryCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code & 0xff : null;
}

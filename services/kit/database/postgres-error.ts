import { Conflict, CoreError, codeOf, Failed, messageOf, Unavailable } from '../errors.ts';

/** SQLSTATE codes (postgresql.org/docs/current/errcodes-appendix.html) that mean something to Core. */
export const sqlStates = {
  uniqueViolation: '23505',
  readOnly: '25006',
  wrongPassword: '28P01',
  notAllowed: '28000',
  noSuchDatabase: '3D000',
  serializationFailure: '40001',
  deadlock: '40P01',
  missingRight: '42501',
  wrongState: '55000',
  diskFull: '53100',
  tooManyConnections: '53300',
  lockNotAvailable: '55P03',
  cancelled: '57014',
  /** Raised by `core_refuse_writes`. */
  storageMoved: 'CR001',
} as const;

/** Classes of errors after which the same can succeed: the connection, a lack of resources, a stop by an administrator. */
const passing = /^(08|53|57P|58)/;
const network = [
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
];
/** Messages of `pg` about a connection that ended; they have no code. */
const ended =
  /Connection terminated|Client has encountered a connection error|timeout (exceeded when trying to connect|expired)|Query read timeout|Cannot use a pool/i;

/** The SQLSTATE of what `pg` throws; null for other errors. */
export function sqlState(error: unknown): string | null {
  const code = codeOf(error);
  return /^[0-9A-Z]{5}$/.test(code) && 'severity' in (error as object) ? code : null;
}

/** True if the connection ended before the server answered. The statement may have run. */
export function isConnectionLoss(error: unknown): boolean {
  if (error instanceof CoreError) return false;
  const state = sqlState(error);
  if (state !== null) return /^(08|57P)/.test(state);
  return network.includes(codeOf(error)) || ended.test(messageOf(error));
}

/** @param how what became of it, as in "it moved to host:/state" */
export function storageMoved(where: string, how: string): Conflict {
  return new Conflict('storage_moved', `${where} cannot be used: ${how}`, {
    facts: { database: where },
    hint: 'Where that was begun, ./core storage migrate finishes it; if it has come to its end, name the storage that is in use in core.json here.',
  });
}

/** Maps what the server, the driver and the network report; anything else is returned unchanged. @param where the database, for people */
export function postgresError(error: unknown, where: string): unknown {
  if (error instanceof CoreError) return error;
  const said = messageOf(error);
  const facts = { database: where, sqlstate: sqlState(error) };
  switch (sqlState(error)) {
    case sqlStates.wrongPassword:
    case sqlStates.notAllowed:
    case sqlStates.noSuchDatabase:
    case sqlStates.missingRight:
      return refused();
    case sqlStates.storageMoved:
      return storageMoved(where, said);
    case sqlStates.diskFull:
      return new Unavailable('disk_full', `the disk of ${where} is full: ${said}`, {
        cause: error,
        facts,
        retryAfter: 30,
        hint: 'Make room there; Core then continues by itself. Acknowledged writes are kept.',
      });
    case sqlStates.readOnly:
    case sqlStates.wrongState:
      return unavailable(
        `${where} takes no writes now: ${said}`,
        'It is a standby, or read-only: point storage.url at the primary.',
      );
    case sqlStates.cancelled:
    case sqlStates.lockNotAvailable:
      return unavailable(
        `${where} took too long: ${said}`,
        'It may be busy. storage.statement_seconds in core.json gives it longer.',
      );
    case sqlStates.serializationFailure:
    case sqlStates.deadlock:
      return unavailable(`${where} could not order this with what others wrote: ${said}`, 'Try again.');
  }
  const state = sqlState(error);
  if ((state !== null && passing.test(state)) || isConnectionLoss(error))
    return unavailable(
      `${where} does not answer: ${said}`,
      'Is it running, and does this host reach it? Core goes on by itself when it answers.',
    );
  if (/^SASL:/.test(said)) return refused();
  if (/self.signed|certificate|does not support SSL|altname/i.test(said))
    return new Failed('database_not_trusted', `${where} does not prove who it is: ${said}`, {
      cause: error,
      facts,
      hint: 'Name the authority of its certificate in storage.ca_file, and the host as in the certificate in storage.url.',
    });
  return error;

  function refused(): Failed {
    return new Failed('database_refused', `${where} refuses Core: ${said}`, {
      cause: error,
      facts,
      hint: 'Check user and database of storage.url in core.json, the file of storage.password_file, and what the user may do there.',
    });
  }

  function unavailable(message: string, hint: string): Unavailable {
    return new Unavailable('database_unavailable', message, { cause: error, facts, retryAfter: 5, hint });
  }
}

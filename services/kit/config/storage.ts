import * as t from 'io-ts';
import { integerBetween, nullable, oneOf, stringThat } from '../decode.ts';
import { InvalidInput } from '../errors.ts';
import type { Folders } from '../folders.ts';
import { AbsolutePath } from './address.ts';
import { readConcernPart } from './concern.ts';

export const storageKinds = ['files', 'postgres'] as const;
export type StorageKind = (typeof storageKinds)[number];

const PostgresUrl = stringThat(
  'PostgresUrl',
  'an address such as postgres://core@db:5432/core, without a password: that goes into the file of password_file',
  (text) => {
    if (!URL.canParse(text)) return false;
    const { protocol, password, pathname, username } = new URL(text);
    return /^postgres(ql)?:$/.test(protocol) && password === '' && username !== '' && pathname.length > 1;
  },
);

/** `storage` of core.json: where runs, leases, tokens, money and queues are kept. */
export const Storage = t.strict({
  /** files: below the state folder of one machine; postgres: in a database that several hosts share. */
  kind: oneOf(storageKinds),
  /** Of the database; user and name of the database are part of it. */
  url: nullable(PostgresUrl),
  /** A file with the password on its one line; null where the server asks for none. */
  password_file: nullable(AbsolutePath),
  /** Certificates of authorities, in PEM, that the server's certificate is checked against; null: those that Node knows. */
  ca_file: nullable(AbsolutePath),
  /** How many connections each service keeps at most. */
  connections: integerBetween(2, 100),
  /** How long one statement may take. */
  statement_seconds: integerBetween(1, 600),
});
export type Storage = t.TypeOf<typeof Storage>;

/** Where a database is and how it is reached. */
export interface PostgresSettings extends Omit<Storage, 'kind' | 'url'> {
  readonly url: string;
}

/** The database that core.json names; null where files are used. @throws InvalidInput (`config_invalid`) */
export function readPostgresSettings(folders: Pick<Folders, 'config'>): PostgresSettings | null {
  const { storage } = readConcernPart(t.type({ storage: Storage }), 'core', folders);
  const { kind, url, ...others } = storage;
  if (kind === 'files') return null;
  if (url !== null) return { url, ...others };
  throw new InvalidInput('config_invalid', '/storage/url is null: storage.kind is postgres, which needs it', {
    errors: [{ pointer: '/storage/url', detail: 'is null' }],
    hint: 'Set storage.url in core.json, for example postgres://core@db.example.org:5432/core.',
  });
}

import * as t from 'io-ts';
import { integerBetween, nullable, oneOf, stringThat } from '../decode.ts';
import { InvalidInput } from '../errors.ts';
import type { Folders } from '../folders.ts';
import { AbsolutePath } from './address.ts';
import { readConcernPart } from './concern.ts';
import { requireFilesInUse } from './storage-note.ts';

export const storageKinds = ['files', 'postgres'] as const;
export type StorageKind = (typeof storageKinds)[number];

const PostgresUrl = stringThat(
  'PostgresUrl',
  'an address such as postgres://core@db:5432/core, of one host and without a password: that goes into the file of password_file, and a proxy finds the primary among several hosts',
  (text) => {
    if (!URL.canParse(text)) return false;
    const { protocol, password, pathname, username, hostname, searchParams } = new URL(text);
    // The driver takes the hosts of libpq's `a,b` for one name.
    const several = `${hostname}${searchParams.get('host') ?? ''}`.includes(',');
    if (several || searchParams.has('target_session_attrs')) return false;
    return /^postgres(ql)?:$/.test(protocol) && password === '' && username !== '' && pathname.length > 1;
  },
);

const S3Endpoint = stringThat(
  'S3Endpoint',
  'an https address without a path, such as https://s3.eu-central-1.amazonaws.com; http only to this machine',
  (text) => {
    if (!URL.canParse(text)) return false;
    const { protocol, hostname, pathname, search, username } = new URL(text);
    if (pathname !== '/' || search !== '' || username !== '') return false;
    return (
      protocol === 'https:' || (protocol === 'http:' && /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname))
    );
  },
);

const BucketName = stringThat('BucketName', 'the name of a bucket, such as core-artifacts', (text) =>
  /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(text),
);

const Region = stringThat('Region', 'the name of a region, such as eu-central-1', (text) =>
  /^[a-z0-9-]{1,40}$/.test(text),
);

const ObjectPrefix = stringThat(
  'ObjectPrefix',
  'empty, or words that each end with a slash, such as core/',
  (text) => /^([A-Za-z0-9_-]+\/)*$/.test(text),
);

/** `storage.s3` of core.json: a bucket for large artifacts of runs in PostgreSQL; none where `bucket` is null. */
const S3 = t.strict({
  /** Address of the server, without the bucket. */
  endpoint: nullable(S3Endpoint),
  /** Part of each signature. Self-hosted servers accept almost any. */
  region: Region,
  /** Exists already; null: all artifacts are in the database. */
  bucket: nullable(BucketName),
  /** Of all names of objects. */
  prefix: ObjectPrefix,
  /** A file with the id of the access key on its one line. */
  access_key_id_file: nullable(AbsolutePath),
  /** A file with the secret of the access key on its one line. */
  secret_access_key_file: nullable(AbsolutePath),
  /** As `ca_file` of the database. */
  ca_file: nullable(AbsolutePath),
  /** The bucket is the first part of the path, not of the host's name. */
  path_style: t.boolean,
  /** Artifacts with fewer bytes stay in the database. */
  min_bytes: integerBetween(0, 1024 * 1024 * 1024),
});

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
  /** A bucket for large artifacts. */
  s3: S3,
});
export type Storage = t.TypeOf<typeof Storage>;

/** Where a database is and how it is reached. */
export interface PostgresSettings extends Omit<Storage, 'kind' | 'url' | 's3'> {
  readonly url: string;
}

export function readStorage(folders: Pick<Folders, 'config'>): Storage {
  return readConcernPart(t.type({ storage: Storage }), 'core', folders).storage;
}

/**
 * The database that core.json names; null where files are used.
 * @throws InvalidInput (`config_invalid`), Conflict (`storage_moved`) where files are named that moved to a database
 */
export function readPostgresSettings(folders: Pick<Folders, 'config' | 'state'>): PostgresSettings | null {
  const { kind, url, s3: _, ...others } = readStorage(folders);
  if (kind === 'files') {
    requireFilesInUse(folders.state);
    return null;
  }
  if (url !== null) return { url, ...others };
  throw new InvalidInput('config_invalid', '/storage/url is null: storage.kind is postgres, which needs it', {
    errors: [{ pointer: '/storage/url', detail: 'is null' }],
    hint: 'Set storage.url in core.json, for example postgres://core@db.example.org:5432/core.',
  });
}

/** A bucket, and who may use it. */
export interface S3Settings
  extends Pick<t.TypeOf<typeof S3>, 'region' | 'prefix' | 'ca_file' | 'path_style' | 'min_bytes'> {
  readonly endpoint: string;
  readonly bucket: string;
  readonly access_key_id_file: string;
  readonly secret_access_key_file: string;
}

/** The bucket that core.json names; null without one. @throws InvalidInput (`config_invalid`) */
export function readS3Settings(folders: Pick<Folders, 'config'>): S3Settings | null {
  const { s3 } = readStorage(folders);
  const { bucket, endpoint, access_key_id_file, secret_access_key_file } = s3;
  if (bucket === null) return null;
  if (endpoint === null) throw missing('endpoint', 'https://s3.eu-central-1.amazonaws.com');
  if (access_key_id_file === null) throw missing('access_key_id_file', '/etc/core/s3-key-id');
  if (secret_access_key_file === null) throw missing('secret_access_key_file', '/etc/core/s3-secret');
  return { ...s3, bucket, endpoint, access_key_id_file, secret_access_key_file };
}

/**
 * Whether several hosts may share the record of core-context, of which one at a time is active: with a database and a bucket.
 * @throws what `readPostgresSettings` and `readS3Settings` throw
 */
export function sharesContextRecord(folders: Pick<Folders, 'config' | 'state'>): boolean {
  return readPostgresSettings(folders) !== null && readS3Settings(folders) !== null;
}

function missing(name: string, example: string): InvalidInput {
  const pointer = `/storage/s3/${name}`;
  return new InvalidInput('config_invalid', `${pointer} is null: storage.s3.bucket is set, which needs it`, {
    errors: [{ pointer, detail: 'is null' }],
    hint: `Set storage.s3.${name} in core.json, for example ${example}.`,
  });
}

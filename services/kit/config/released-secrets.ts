import * as t from 'io-ts';
import { NonEmptyString } from '../decode.ts';
import type { Folders } from '../folders.ts';
import { type SecretFinder, secretFinder } from '../redaction/secret-finder.ts';
import { readConcernPart } from './concern.ts';

const ReleasedSecrets = t.strict({ released_secrets: t.array(NonEmptyString) });

/** Fingerprints of texts that are not secrets, released by a person in `policy.json`. @throws InvalidInput (`config_invalid`) */
export function readReleasedSecrets(folders: Pick<Folders, 'config'>): readonly string[] {
  return readConcernPart(ReleasedSecrets, 'policy', folders).released_secrets;
}

/** The secret finder without what a person released. @throws InvalidInput (`config_invalid`) */
export function readSecretFinder(folders: Pick<Folders, 'config'>): SecretFinder {
  return secretFinder(readReleasedSecrets(folders));
}

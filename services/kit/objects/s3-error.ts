import { CoreError, codeOf, Failed, messageOf, Unavailable } from '../errors.ts';

/** What an S3 server answered in place of what was asked. */
export interface S3Refusal {
  readonly status: number;
  /** XML as `<Error><Code>…</Code><Message>…</Message></Error>`; empty of a HEAD, and of some proxies. */
  readonly body: string;
}

/** Not all servers answer them with 403; the last is versitygw's for a key that it does not know. */
const refusals = ['AccessDenied', 'InvalidAccessKeyId', 'SignatureDoesNotMatch', 'XAdminUserNotFound'];

export function s3Code({ body }: S3Refusal): string | null {
  return /<Code>([A-Za-z0-9]{1,80})<\/Code>/.exec(body)?.[1] ?? null;
}

/** @param where the bucket, for people */
export function s3Refused(refusal: S3Refusal, where: string): CoreError {
  const { status, body } = refusal;
  const code = s3Code(refusal);
  const message = /<Message>([^<]{1,300})<\/Message>/.exec(body)?.[1];
  const said = [`HTTP ${status}`, code, message]
    .filter((part) => part !== null && part !== undefined)
    .join(', ');
  const facts = { objects: where, status, s3_code: code };
  if (code === 'NoSuchBucket')
    return new Failed('bucket_missing', `there is no bucket for ${where}: ${said}`, {
      facts,
      hint: 'Make the bucket, or correct endpoint, bucket and path_style of storage.s3 in core.json.',
    });
  if (code === 'RequestTimeTooSkewed')
    return new Failed('objects_refused', `${where} refuses Core: ${said}`, {
      facts,
      hint: 'The clocks of this host and of the server are too far apart: set this host’s by NTP.',
    });
  if (status === 401 || status === 403 || refusals.includes(code ?? ''))
    return new Failed('objects_refused', `${where} refuses Core: ${said}`, {
      facts,
      hint: 'Check the files of access_key_id_file and secret_access_key_file of storage.s3 in core.json, and that the key may get, put and delete objects there.',
    });
  if (status >= 500 || status === 429 || status === 408) return unavailable(where, said, undefined, facts);
  return new Failed('objects_failed', `${where} does not do what Core asks: ${said}`, {
    facts,
    hint: 'Check endpoint, region and path_style of storage.s3 in core.json.',
  });
}

/** What the network reports. */
export function s3Unreached(error: unknown, where: string): unknown {
  if (error instanceof CoreError) return error;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const said = messageOf(cause) || codeOf(cause);
  if (/self.signed|certificate|altname|wrong version number/i.test(`${said} ${codeOf(cause)}`))
    return new Failed('objects_not_trusted', `${where} does not prove who it is: ${said}`, {
      cause: error,
      facts: { objects: where },
      hint: 'Name the authority of its certificate in storage.s3.ca_file, and the host as in the certificate in storage.s3.endpoint.',
    });
  return unavailable(where, said, error, { objects: where });
}

function unavailable(
  where: string,
  said: string,
  cause: unknown,
  facts: Readonly<Record<string, unknown>>,
): Unavailable {
  return new Unavailable('objects_unavailable', `${where} does not answer: ${said}`, {
    cause,
    facts,
    retryAfter: 5,
    hint: 'Is it running, and does this host reach it? Core goes on by itself when it answers.',
  });
}

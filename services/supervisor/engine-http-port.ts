import * as t from 'io-ts';
import { mergedDocument, readConcernDocument } from '#kit/config/concern.ts';
import { decode, integerBetween } from '#kit/decode.ts';
import type { Environment } from '#kit/environment.ts';
import type { Folders } from '#kit/folders.ts';

const EngineHttp = t.strict({ http_port: integerBetween(0, 65_535) });

/** Flag, environment, user's file, shipped default, in that order. @throws InvalidInput (`config_invalid`) */
export function readEngineHttpPort(
  folders: Pick<Folders, 'config'>,
  environment: Pick<Environment, 'CORE_BUS_HTTP_PORT'>,
  flag?: string | number | undefined,
): number {
  const { document, path } = mergedDocument(readConcernDocument('bus', folders));
  const { http_port: configured } = decode(EngineHttp, document, path, 'config_invalid');
  const [given, where] =
    flag === undefined
      ? [environment.CORE_BUS_HTTP_PORT, 'CORE_BUS_HTTP_PORT']
      : [String(flag), '--bus-http-port'];
  if (given === undefined || given === '') return configured;
  const http_port = /^\d+$/.test(given) ? Number(given) : given;
  return decode(EngineHttp, { http_port }, where, 'config_invalid').http_port;
}

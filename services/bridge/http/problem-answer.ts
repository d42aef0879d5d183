import type { ServerResponse } from 'node:http';
import { CoreError } from '#kit/errors.ts';
import { problemHeaders, problemOf, problemType } from '#kit/http/problem.ts';
import type { Logger } from '#kit/log.ts';
import type { Redactor } from '#kit/redaction.ts';

/** Answers a raw route in the way of all others. */
export function answerProblem(
  response: ServerResponse,
  error: unknown,
  { path, id, redactor, logger }: { path: string; id: string; redactor: Redactor; logger: Logger },
): void {
  if (!(error instanceof CoreError)) logger.error('request failed', { request_id: id, error });
  if (response.headersSent || response.destroyed) return void response.destroy();
  const problem = problemOf(error, { path, id }, redactor);
  const body = Buffer.from(JSON.stringify(problem));
  response.writeHead(problem.status, {
    ...problemHeaders(error),
    'content-type': problemType,
    'content-length': String(body.length),
  });
  response.end(body);
}

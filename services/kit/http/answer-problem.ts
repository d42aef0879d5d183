import type { ServerResponse } from 'node:http';
import type { Logger } from '../log.ts';
import type { Redactor } from '../redaction.ts';
import { problemHeaders, problemOf, problemType } from './problem.ts';
import type { WriteHead } from './raw-route.ts';

export interface ProblemParts {
  readonly writeHead: WriteHead;
  readonly redactor: Redactor;
  readonly logger: Logger;
}

/** Answers what went wrong as every route does, without koa. @returns the status that was sent */
export function answerProblem(
  response: ServerResponse,
  error: unknown,
  request: { readonly path: string; readonly id: string },
  { writeHead, redactor, logger }: ProblemParts,
): number {
  const problem = problemOf(error, request, redactor);
  const { status } = problem;
  if (status === 500) logger.error('request failed', { request_id: request.id, error });
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return status;
  }
  const body = Buffer.from(JSON.stringify(problem));
  const own = { 'Content-Type': problemType, 'Content-Length': String(body.length) };
  writeHead(status, { ...problemHeaders(error), ...own });
  response.end(body);
  return status;
}

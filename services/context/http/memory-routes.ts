import {
  ForgetReply,
  ForgetRequest,
  ImportReply,
  LookupReply,
  LookupRequest,
  MemoryDetail,
  OutcomeReply,
  OutcomeRequest,
  RecordReply,
  RecordRequest,
} from '#kit/contracts/context/memory.ts';
import { tokenSource } from '#kit/contracts/context/memory-source.ts';
import { invalidQuery, type Route, route, routeWithBody, routeWithUpload } from '#kit/http/route.ts';
import type { Memory } from '../memory/memory.ts';

/** The media type of JSON Lines, and what people send instead of it. */
const jsonLines = 'application/jsonl';
const jsonLinesTypes = [jsonLines, 'application/x-ndjson', 'application/octet-stream'] as const;
const importLimit = 128 * 1024 * 1024;

export function memoryRoutes(memory: Memory): Route[] {
  return [
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/memory/lookup',
        summary: 'What is remembered about something, best first',
        scope: 'read',
        body: LookupRequest,
        answers: { 200: { description: 'At most as many as the limit', content: LookupReply } },
      },
      async ({ body }) => ({ json: await memory.lookup(body) }),
    ),
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/memory/record',
        summary: 'Remember something; the same key again changes nothing',
        scope: 'plan',
        body: RecordRequest,
        // Memories are recorded in large numbers.
        debugBelow: 400,
        answers: {
          200: { description: 'It was remembered already', content: RecordReply },
          201: { description: 'It is remembered now', content: RecordReply },
        },
      },
      async ({ body, identity }) => {
        const source = tokenSource(identity!, body.source);
        const reply = await memory.record({ ...body, source });
        return { status: reply.created ? 201 : 200, json: reply };
      },
    ),
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/memory/outcome',
        summary: 'Say whether a playbook worked',
        scope: 'plan',
        body: OutcomeRequest,
        answers: { 200: { description: 'How often it worked so far', content: OutcomeReply } },
      },
      async ({ body }) => ({ json: await memory.outcome(body) }),
    ),
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/memory/forget',
        summary: 'Remove one memory, or all of a source, for good',
        scope: 'admin',
        body: ForgetRequest,
        answers: { 200: { description: 'What is gone', content: ForgetReply } },
      },
      async ({ body, identity }) => ({ json: await memory.forget(body, identity!.name) }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/memory/export',
        summary: 'All that is remembered, one memory a line, oldest first',
        scope: 'read',
        answers: { 200: { description: 'JSON Lines', content: jsonLines } },
      },
      async () => ({ content: { type: jsonLines, bytes: memory.exportAll() } }),
    ),
    routeWithUpload(
      {
        method: 'POST',
        path: '/v1/memory/import',
        summary: 'Bring in an export; nothing of it unless every line can be read',
        scope: 'admin',
        query: {
          force: {
            description: 'Bring back what was forgotten here too',
            schema: { type: 'string', enum: ['true', 'false'] },
          },
        },
        upload: { types: jsonLinesTypes, limit: importLimit },
        answers: {
          200: { description: 'What came in, line by line where it did not', content: ImportReply },
        },
      },
      async ({ body, query }) => ({
        json: await memory.importAll(body, { force: truth('force', query.force) }),
      }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/memory/{id}',
        summary: 'One memory with all of its content',
        scope: 'read',
        answers: { 200: { description: 'The memory', content: MemoryDetail } },
      },
      async ({ params }) => ({ json: await memory.read(params.id!) }),
    ),
  ];
}

function truth(name: string, text = 'false'): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw invalidQuery(name, text, 'true or false');
}

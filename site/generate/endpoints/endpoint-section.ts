import type * as t from 'io-ts';
import type {
  AnswerDescription,
  ParameterDescription,
  Route,
  TokenPlaces,
} from '../../../services/kit/http/route.ts';
import { codecRows } from '../codecs/codec-rows.ts';
import type { CodecDocs } from '../codecs/doc-comments.ts';
import { blocks, code, fenced, prose, table } from '../markdown.ts';
import { exampleOf } from './example.ts';
import { exampleRequest } from './example-request.ts';

export type DocsOf = (codec: t.Mixed) => CodecDocs | null;

export function endpointSection(route: Route, port: number, docsOf: DocsOf): string {
  const { method, path, summary, body, query, requestHeaders, answers } = route;
  return blocks(
    `### ${method} ${path.replaceAll('{', '\\{')}`,
    `${prose(summary)}. ${scopeText(route)}`,
    table(
      ['Parameter', 'In', 'Meaning'],
      [
        ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [code(name!), 'path', pathMeaning(name!)]),
        ...parameterRows('query', query),
        ...parameterRows('header', requestHeaders),
      ],
    ),
    'codec' in body ? membersTable('Request', body.codec, docsOf) : '',
    fenced('sh', curl(route, port)),
    ...Object.entries(answers).map(([status, answer]) => answerBlock(status, answer, docsOf)),
    elseText(route),
  );
}

function elseText({ scope, path, errorReply }: Route): string {
  if (scope === null && path === '/healthz') return '';
  return errorReply === undefined
    ? 'Anything else is a [problem](../errors.md).'
    : 'Anything else has the shape that errors of its maker have, with a code of [errors](../errors.md).';
}

/** Where its clients may put the token too. */
function placesText({ headers = [], query }: TokenPlaces = {}): string {
  const places = [...headers, ...(query === undefined ? [] : [`?${query}=`])];
  return places.length === 0 ? '' : `, also in ${places.map((place) => code(place)).join(' or ')}`;
}

function scopeText({ scope, path, tokenIn }: Route): string {
  if (scope === null) return 'Open to everybody who may speak to the service.';
  const open = scope === 'read' ? ' where the service asks for tokens to read' : '';
  return `Needs a token with the scope ${code(scope)}${open}${placesText(tokenIn)}.${path === '/v1/openapi.json' ? ' It is this page for machines.' : ''}`;
}

function pathMeaning(name: string): string {
  if (name === 'run_id') return 'identifier of a run, or a unique beginning of it';
  if (name === 'action_id') return 'identifier of an action of that run';
  return 'identifier, as lists give it';
}

function parameterRows(
  place: string,
  described: Readonly<Record<string, ParameterDescription>> = {},
): string[][] {
  return Object.entries(described).map(([name, { description, schema, required }]) => [
    code(name),
    place,
    prose([description, ...(required ? ['needed'] : []), ...schemaWords(schema)].join('; ')),
  ]);
}

function schemaWords(schema: Readonly<Record<string, unknown>>): string[] {
  const { enum: words, minimum, maximum } = schema as { enum?: string[]; minimum?: number; maximum?: number };
  if (words !== undefined) return [`one of ${words.join(', ')}`];
  if (minimum !== undefined && maximum !== undefined) return [`from ${minimum} to ${maximum}`];
  return [];
}

function membersTable(title: string, codec: t.Mixed, docsOf: DocsOf): string {
  const rows = codecRows(codec, docsOf(codec)).map(({ path, rule, optional, meaning }) => [
    code(path),
    `${prose(rule)}${optional ? '; may be left out' : ''}`,
    prose(meaning ?? ''),
  ]);
  return table([title, 'Value', 'Meaning'], rows);
}

/** The request as a line for a shell, with the values that the page's other examples have. */
export function curl(route: Route, port: number): string {
  const { method, path, withToken, type, body } = exampleRequest(route);
  const address = `http://127.0.0.1:${port}${path}`;
  const usual: Readonly<Record<string, string>> = { GET: '-s ', HEAD: '-sI ' };
  const asked = usual[method] ?? `-s -X ${method} `;
  const lines = [
    `curl ${asked}${path.includes('?') ? `'${address}'` : address}`,
    withToken ? `-H "Authorization: Bearer $TOKEN"` : null,
    type === null ? null : `-H 'Content-Type: ${type}'`,
    route.body.kind === 'upload' ? '--data-binary @memory.jsonl' : null,
    body === null ? null : `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`,
  ].filter((line) => line !== null);
  return lines.join(' \\\n  ');
}

function answerBlock(status: string, { description, content }: AnswerDescription, docsOf: DocsOf): string {
  const head = `**${status}** ${prose(description)}`;
  if (content === undefined) return `${head}.`;
  if (typeof content === 'string') return `${head}, as ${code(content)}.`;
  const example = JSON.stringify(exampleOf(content, true), null, 2);
  return blocks(
    `${head}.`,
    membersTable('Answer', content, docsOf),
    `::: details Example\n${fenced('json', example)}\n:::`,
  );
}

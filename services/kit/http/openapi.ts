import { Problem } from '../contracts/problem.ts';
import { type JsonSchema, jsonSchema } from '../json-schema.ts';
import { problemType } from './problem.ts';
import type { AnswerDescription, ParameterDescription, Route, TokenPlaces } from './route.ts';

/** The OpenAPI 3.1 document of a service, made of its routes. */
export function openApiDocument(
  info: { readonly title: string; readonly version: string },
  routes: readonly Route[],
) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes.filter(({ isPage }) => isPage !== true)) {
    paths[route.path] ??= {};
    paths[route.path]![route.method.toLowerCase()] = operation(route);
  }
  return {
    openapi: '3.1.0',
    info,
    paths,
    components: {
      schemas: { Problem: jsonSchema(Problem) },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        ...Object.assign({}, ...routes.map(({ tokenIn }) => placesOf(tokenIn))),
      },
    },
  };
}

/** Security schemes by name. */
function placesOf({ headers = [], query }: TokenPlaces = {}): Record<string, object> {
  const places = [
    ...headers.map((name) => ({ type: 'apiKey', in: 'header', name })),
    ...(query === undefined ? [] : [{ type: 'apiKey', in: 'query', name: query }]),
  ];
  return Object.fromEntries(places.map((place) => [place.name, place]));
}

function operation(route: Route): Record<string, unknown> {
  const { scope } = route;
  const body = requestBody(route);
  return {
    summary: route.summary,
    ...(scope === null
      ? { security: [] }
      : {
          security: ['token', ...Object.keys(placesOf(route.tokenIn))].map((name) => ({ [name]: [] })),
          'x-core-scope': scope,
        }),
    parameters: parametersOf(route),
    ...(body === null ? {} : { requestBody: body }),
    responses: {
      ...Object.fromEntries(
        Object.entries(route.answers).map(([status, answer]) => [status, response(answer)]),
      ),
      default: {
        description: 'What went wrong',
        content: { [problemType]: { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  };
}

function requestBody({ body }: Route): Record<string, unknown> | null {
  switch (body.kind) {
    case 'none':
      return null;
    case 'json':
    case 'bytes': {
      const content = { 'application/json': { schema: jsonSchema(body.codec) } };
      return { required: body.kind === 'bytes' || !body.optional, content };
    }
    case 'form':
      return {
        required: true,
        content: { 'application/x-www-form-urlencoded': { schema: jsonSchema(body.codec) } },
      };
    case 'upload':
      return { required: true, content: { [body.types[0]]: { schema: { type: 'string' } } } };
  }
}

function parametersOf(route: Route): unknown[] {
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  return [...inPath, ...described('query', route.query), ...described('header', route.requestHeaders)];
}

function described(
  place: string,
  parameters: Readonly<Record<string, ParameterDescription>> = {},
): unknown[] {
  return Object.entries(parameters).map(([name, parameter]) => ({
    name,
    in: place,
    required: false,
    ...parameter,
  }));
}

function response({ description, content }: AnswerDescription): Record<string, unknown> {
  if (content === undefined) return { description };
  const type = typeof content === 'string' ? content : content === Problem ? problemType : 'application/json';
  const schema: JsonSchema = typeof content === 'string' ? { type: 'string' } : jsonSchema(content);
  return { description, content: { [type]: { schema } } };
}

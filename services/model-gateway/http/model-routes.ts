import * as t from 'io-ts';
import { ModelFacts, ModelList } from '#kit/contracts/model-gateway/models.ts';
import { optional } from '#kit/decode.ts';
import { NotFound } from '#kit/errors.ts';
import { type Reply, type Route, route, routeWithBytes } from '#kit/http/route.ts';
import type { Redactor } from '#kit/redaction/redactor.ts';
import type { Identity } from '#kit/tokens/tokens.ts';
import type { ContextWindows } from '../calls/context-windows.ts';
import { errorAnswer } from '../calls/error-answer.ts';
import type { ModelCalls } from '../calls/model-calls.ts';
import type { GatewayConfig } from '../configuration.ts';
import { dialectFor, dialects, endpointFacts } from '../dialects/registry.ts';
import { accountOf } from '../ledger/accounts.ts';
import { type DialectName, dialectOf, type Endpoint, endpoints } from '../providers/endpoints.ts';
import { requestHeaders } from '../providers/headers.ts';

interface ModelRouteParts {
  readonly calls: ModelCalls;
  readonly redactor: Redactor;
}

const maxBody = 20 * 1024 * 1024;

/** The endpoints through which calls go; their errors have the shape of their dialect. */
export function callRoutes(parts: ModelRouteParts): readonly Route[] {
  return [...endpoints.map((endpoint) => callRoute(endpoint, parts)), firstLook];
}

/** Claude Code looks whether somebody is there before it asks. */
const firstLook = route(
  {
    method: 'HEAD',
    path: '/',
    summary: 'That somebody is there',
    scope: null,
    anyQuery: true,
    answers: { 200: { description: 'Nothing else' } },
  },
  async () => ({ content: { type: 'text/plain', bytes: '' } }),
);

function callRoute(endpoint: Endpoint, { calls, redactor }: ModelRouteParts): Route {
  const { path, summary, stream } = endpointFacts(endpoint);
  const content = stream === 'always' ? 'text/event-stream' : t.UnknownRecord;
  const { tokenIn } = dialectFor(endpoint);
  const dialect = dialectOf[endpoint];
  return routeWithBytes(
    {
      method: 'POST',
      path,
      summary,
      scope: 'model',
      tokenIn,
      body: t.UnknownRecord,
      bodyLimit: maxBody,
      anyQuery: true,
      debugBelow: 500,
      answers: {
        200: { description: 'As its maker describes it', content },
        400: { description: 'What went wrong, here and upstream', content: t.UnknownRecord },
      },
      errorReply: (error, { id }) => errorReply(dialect, error, id, redactor),
    },
    async ({ id, identity, header, headers, search, params, body }) => ({
      write(response, writeHead) {
        // The scope needs a token, so that somebody is there.
        const caller = { id, account: accountOf(identity!), writeHead };
        const sent = {
          endpoint,
          bytes: body,
          named: params.model,
          via: header('via'),
          ...(dialect !== 'chat' && {
            headers: requestHeaders(headers),
            search: search === '' ? '' : `?${search}`,
          }),
        };
        return calls.handle(sent, response, caller);
      },
    }),
  );
}

export function errorReply(dialect: DialectName, error: unknown, id: string, redactor: Redactor): Reply {
  const { status, headers, body } = errorAnswer(dialect, error, id, redactor);
  return { status, headers, json: body };
}

/** A model as Google describes it. Source: ai.google.dev/api/models. */
const GoogleModel = t.strict({
  name: t.string,
  displayName: t.string,
  inputTokenLimit: optional(t.number),
  outputTokenLimit: optional(t.number),
  /** Empty for a model that has no upstream of Google's kind: the gateway does not translate generateContent. */
  supportedGenerationMethods: t.array(t.string),
});
const GoogleModelList = t.strict({ models: t.array(GoogleModel) });

function googleModel(
  { id, kind, limits: { context_tokens: input, output_tokens: output } }: ModelFacts,
  { upstreams }: GatewayConfig['models'][string],
) {
  const canGenerate = kind === 'chat' && upstreams.some((upstream) => upstream.kind === 'google');
  return {
    name: `models/${id}`,
    displayName: id,
    ...(input !== null && { inputTokenLimit: input }),
    ...(output !== null && { outputTokenLimit: output }),
    supportedGenerationMethods: canGenerate ? ['generateContent', 'countTokens'] : [],
  };
}

/**
 * @param models the configured ones, now
 * @param since when the process began, for `created`, which OpenAI's clients want as a number
 */
export function modelListRoutes(
  models: () => GatewayConfig['models'],
  windows: Pick<ContextWindows, 'of'>,
  since: number,
  redactor: Redactor,
): readonly Route[] {
  const modelsOf = (identity: Identity | null): ModelFacts[] => {
    const own = identity === null ? null : accountOf(identity).models;
    return Object.entries(models())
      .filter(([name]) => own === null || own.includes(name))
      .map(([id, { kind = 'chat', tier = null, limits = {} }]) => ({
        id,
        object: 'model',
        created: Math.floor(since / 1000),
        owned_by: 'core-model-gateway',
        kind,
        tier,
        limits: {
          context_tokens: limits.context_tokens ?? null,
          output_tokens: limits.output_tokens ?? null,
        },
      }));
  };
  const { tokenIn } = dialects.messages;
  const found = (identity: Identity | null, id: string): ModelFacts => {
    const all = modelsOf(identity);
    const known = all.find((one) => one.id === id);
    if (known !== undefined) return known;
    const must =
      all.length === 0
        ? 'none is; ./core model add configures one'
        : `must be one of ${all.map((one) => one.id).join(', ')}`;
    throw new NotFound('model_not_found', `model ${JSON.stringify(id)} is not configured: ${must}`);
  };
  const withWindow = async (facts: ModelFacts): Promise<ModelFacts> => ({
    ...facts,
    limits: { ...facts.limits, context_tokens: await windows.of(facts.id) },
  });
  const forGoogle = (facts: ModelFacts) => googleModel(facts, models()[facts.id]!);
  const google = {
    method: 'GET',
    scope: 'read',
    tokenIn: dialects.google.tokenIn,
    anyQuery: true,
    errorReply: (error: unknown, { id }: { readonly id: string }) =>
      errorReply('google', error, id, redactor),
  } as const;
  return [
    route(
      {
        ...google,
        path: '/v1beta/models',
        summary: 'The models that the caller may ask, as Google’s clients list them',
        answers: { 200: { description: 'All on one page', content: GoogleModelList } },
      },
      async ({ identity }) => ({ json: { models: modelsOf(identity).map(forGoogle) } }),
    ),
    route(
      {
        ...google,
        path: '/v1beta/models/{id}',
        summary: 'One of them, as Google’s clients get it',
        answers: { 200: { description: 'The model', content: GoogleModel } },
      },
      async ({ identity, params }) => ({ json: forGoogle(await withWindow(found(identity, params.id!))) }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/models',
        summary: 'The models that the caller may ask',
        scope: 'read',
        tokenIn,
        anyQuery: true,
        answers: { 200: { description: 'In the order of the configuration', content: ModelList } },
      },
      async ({ identity }) => ({ json: { object: 'list', data: modelsOf(identity) } }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/models/{id}',
        summary: 'One of them, with what its upstreams say of its context window',
        scope: 'read',
        tokenIn,
        anyQuery: true,
        answers: { 200: { description: 'The model', content: ModelFacts } },
      },
      async ({ identity, params }) => {
        return { json: await withWindow(found(identity, params.id!)) };
      },
    ),
  ];
}

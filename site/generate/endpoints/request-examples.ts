import { webhookForges } from '../../../services/kit/forges/registry.ts';
import { wellKnown } from './well-known.ts';

const digest = '7d2e1f0c5b6a4938271605f4e3d2c1b0a99887766554433221100ffeeddccbba';

const messages = [{ role: 'user', content: 'Say hello.' }];
const contents = [{ role: 'user', parts: [{ text: 'Say hello.' }] }];
const asGoogle = { contents, generationConfig: { maxOutputTokens: 50 } };

/** What is refused when it is past, is an hour ahead of the page. */
const soon = new Date(Date.now() + 3_600_000).toISOString().replace(/:\d\d\.\d+/, ':00.000');

/** What needs a token also where reading is open, or where nothing is signed. */
export const alwaysWithToken: ReadonlySet<string> = new Set([
  'GET /v1/issues',
  'GET /v1/issues/changed',
  'GET /v1/runs/{run_id}/artifacts/{digest}',
  'GET /v1/status',
  'GET /v1/token',
  'GET /v1/usage',
  'POST /v1/review/links',
  'DELETE /v1/review/sessions',
  'DELETE /v1/review/sessions/{session_id}',
  'GET /v1/review/sessions',
  'POST /v1/mcp',
  'POST /v1/ingress/dashboard-issue',
  ...webhookForges.map((kind) => `POST /v1/ingress/${kind}`),
]);

/** What people really send. A test decodes each with its endpoint's codec; others are made of the codec. */
export const requestExamples: Readonly<Record<string, unknown>> = {
  'POST /v1/runs': { owner: 'demo', repo: 'hello', number: 1 },
  'POST /v1/mcp': { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  'POST /v1/runs/{run_id}/actions/{action_id}/approval': { decision: 'approve', digest },
  'POST /v1/runs/{run_id}/execute': { checkout: 'hello' },
  'POST /v1/runs/{run_id}/cancel': { reason: 'Mira does it by hand.' },
  'POST /v1/review/links': {},
  'POST /v1/admin/refresh': { repositories: ['local/demo/hello'] },
  'POST /v1/graphrag/search': { query: 'greeting of an empty name', limit: 5 },
  'POST /v1/memory/lookup': { query: 'when are releases cut', layer: 'semantic', limit: 3 },
  'POST /v1/memory/record': {
    layer: 'semantic',
    content: 'Releases are cut on Thursdays.',
    about: ['repo:local/demo/hello'],
    source: 'mira',
  },
  'POST /v1/memory/forget': { source: 'mira', reason: 'She asked for it.' },
  'POST /v1/graphdb/cypher': {
    query: 'MATCH (a:Action {kind: $kind}) RETURN a.approval AS approval, count(a) AS actions',
    params: { kind: 'commit' },
    limit: 10,
  },
  'POST /v1/keys': { run: wellKnown.run_id, models: ['coder'], budget: 0.5, expires_at: soon },
  'POST /v1/chat/completions': { model: 'coder', messages, max_tokens: 50 },
  'POST /v1/messages': { model: 'coder', messages, max_tokens: 50 },
  'POST /v1/messages/count_tokens': { model: 'claude', messages },
  'POST /v1/responses': { model: 'coder', input: 'Say hello.', max_output_tokens: 50 },
  'POST /v1beta/models/{model}:generateContent': asGoogle,
  'POST /v1beta/models/{model}:streamGenerateContent': asGoogle,
  'POST /v1beta/models/{model}:countTokens': { contents },
  'POST /v1/ingress/dashboard-issue': {
    event_id: 'card-17-created',
    kind: 'issue.created',
    occurred_at: '2026-11-22T08:50:00.000Z',
    issue: {
      id: 'card-17',
      title: 'Greeting is wrong when the name is empty',
      status: 'open',
      forge: { owner: 'demo', repo: 'hello', number: 1 },
    },
  },
  'POST /v1/sync/forge-to-agent': { owner: 'demo', repo: 'hello', since: '2026-11-22T08:00:00Z' },
  'POST /v1/embeddings': { model: 'vectors', input: 'Releases are cut on Thursdays.' },
};

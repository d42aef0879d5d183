const digest = '7d2e1f0c5b6a4938271605f4e3d2c1b0a99887766554433221100ffeeddccbba';

/** What people really send. A test decodes each with its endpoint's codec; others are made of the codec. */
export const requestExamples: Readonly<Record<string, unknown>> = {
  'POST /v1/runs': { owner: 'demo', repo: 'hello', number: 1 },
  'POST /v1/runs/{run_id}/actions/{action_id}/approval': { decision: 'approve', digest },
  'POST /v1/runs/{run_id}/execute': { checkout: 'hello' },
  'POST /v1/runs/{run_id}/cancel': { reason: 'Mira does it by hand.' },
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
  'POST /v1/chat/completions': {
    model: 'coder',
    messages: [{ role: 'user', content: 'Say hello.' }],
    max_tokens: 50,
  },
  'POST /v1/embeddings': { model: 'vectors', input: 'Releases are cut on Thursdays.' },
};

/**
 * Node's http as its own modules have it: `import … from 'node:http'` reads every export, and one of them (`WebSocket`) loads a
 * whole HTTP client, which takes longer than starting Node.
 */
export const { createServer, request, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http');

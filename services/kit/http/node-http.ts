/** Not imported: that reads every export, of which `WebSocket` loads Node's fetch, 50 ms of each start. */
export const { Agent, createServer, request, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http');

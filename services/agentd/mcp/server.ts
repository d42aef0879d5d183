import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { CoreError, NotFound } from '#kit/errors.ts';
import type { McpTool, McpTools, ToolCall } from './tool.ts';

export interface McpServerOptions {
  readonly name: string;
  readonly version: string;
  /** What the model of the client should know of the tools together. */
  readonly instructions: string;
  readonly tools: McpTools;
  /** Of errors that nobody foresaw; the client gets no more than that there was one. */
  readonly onError: (error: unknown) => void;
}

/** A server of the Model Context Protocol, to be connected to one client. */
export function mcpServer({ name, version, instructions, tools, onError }: McpServerOptions): Server {
  const server = new Server({ name, version }, { capabilities: { tools: {} }, instructions });
  server.onerror = onError;
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    tools: Object.entries(tools).map(([name, tool]) => ({
      name,
      title: tool.title,
      description: tool.description,
      inputSchema: { ...tool.input, type: 'object' as const },
      annotations: { readOnlyHint: tool.readOnly, destructiveHint: false, openWorldHint: !tool.readOnly },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification }) => {
    const token = params._meta?.progressToken;
    let progress = 0;
    const call: ToolCall = {
      signal,
      progress(message) {
        if (token === undefined || signal.aborted) return;
        const update = { progressToken: token, progress: ++progress, message };
        // A client that has left hears nothing more; the call itself ends by its signal.
        sendNotification({ method: 'notifications/progress', params: update }).catch(() => {});
      },
    };
    try {
      return resultOf(await toolNamed(tools, params.name).run(params.arguments ?? {}, call));
    } catch (error) {
      if (!(error instanceof CoreError)) onError(error);
      return failureOf(error);
    }
  });
  return server;
}

function toolNamed(tools: McpTools, name: string): McpTool {
  if (Object.hasOwn(tools, name)) return tools[name]!;
  const names = Object.keys(tools).join(', ');
  throw new NotFound(
    'tool_not_found',
    `there is no tool ${JSON.stringify(name.slice(0, 100))}: must be one of ${names}`,
  );
}

function resultOf(value: unknown): CallToolResult {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 1);
  return { content: [{ type: 'text', text }] };
}

/** A failure is for the model to read, so that it can do something else. */
function failureOf(error: unknown): CallToolResult {
  const text =
    error instanceof CoreError
      ? [`${error.message} [${error.code}]`, error.hint].filter((line) => line !== undefined).join('\n')
      : 'Something failed that was not foreseen; the log says what. [internal]';
  return { isError: true, content: [{ type: 'text', text }] };
}

import type { Readable, Writable } from 'node:stream';
import * as acp from '@agentclientprotocol/sdk';
import * as t from 'io-ts';
import { guarded } from '#kit/callbacks.ts';
import { decode } from '#kit/decode.ts';
import { CoreError, Failed, messageOf, NotFound, Refused, Unavailable } from '#kit/errors.ts';
import { ownVersion } from '#kit/program.ts';
import { oneLine } from '../../actions/published-texts.ts';
import type { AgentRoom } from '../../planning/agent-room.ts';
import {
  type AgentUpdate,
  agentUpdate,
  InitializeReply,
  NewSessionReply,
  PermissionQuestion,
  PromptReply,
  ReadFile,
  type ToolCall,
  WriteFile,
} from './acp-messages.ts';
import { agentStream } from './acp-stream.ts';
import { type PermissionAnswer, permissionFor, responseFor } from './permissions.ts';

export interface AcpSession {
  readonly streams: { readonly stdin: Writable; readonly stdout: Readable };
  readonly room: Pick<AgentRoom, 'folder' | 'readText' | 'writeText' | 'context_address'>;
  readonly prompt: string;
  readonly mode: string | null;
  /** Whether the agent may read and write files through the room. */
  readonly files: boolean;
  readonly authenticate: string | null;
  readonly watch: SessionWatch;
  /** Asks the agent to stop; it may still answer. */
  readonly signal: AbortSignal;
  /** Milliseconds in which it must have made a session. */
  readonly startMs?: number;
}

/** What the session shows while it goes on. Never throws. */
export interface SessionWatch {
  /** The agent has answered the first message. */
  started(): void;
  /** The agent has made a session. */
  ready(program: AgentProgram | null): Promise<void>;
  prompted(): void;
  updated(update: AgentUpdate): void;
  asked(tool: ToolCall, answer: PermissionAnswer): void;
  file(action: 'read' | 'write', path: string, bytes: number): void;
  note(text: string): void;
}

export interface AgentProgram {
  readonly name: string;
  readonly version: string | null;
}

const defaultStartMs = 120_000;
const maxQuestions = 1_000;
/** Characters of what goes into events and messages; an agent may say any number. */
const [maxName, maxError] = [100, 1_000];

/**
 * One prompt of the Agent Client Protocol, from `initialize` to the end of the turn.
 * @returns why the agent stopped
 * @throws Refused (`agent_login_missing`, `agent_mode_unknown`), Failed (`agent_protocol_broken`, `agent_flooded`), Unavailable
 * (`agent_silent`)
 */
export async function acpSession(session: AcpSession): Promise<{ readonly stop_reason: string }> {
  const { streams, room, prompt, watch, signal, startMs = defaultStartMs } = session;
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => {});
  const foreign = (line: string) => watch.note(`on its standard output: ${line}`);
  const stream = agentStream(streams, foreign, broken.reject);
  const connection = app(session, broken.reject).connect(stream);
  const closed = connection.closed.then(() => {
    throw new Failed('agent_protocol_broken', 'the agent closed its standard output before it had answered', {
      facts: { closed: true },
    });
  });
  closed.catch(() => {});

  async function ask<A>(
    method: string,
    params: unknown,
    codec: t.Decoder<unknown, A>,
    ms?: number,
  ): Promise<A> {
    const limit = ms === undefined ? null : timeLimit(method, ms);
    try {
      const answers = [connection.agent.request(method, params), broken.promise, closed];
      const answer = await Promise.race(limit === null ? answers : [...answers, limit.promise]);
      return decode(codec, answer, `the agent's answer to ${method}`, 'agent_protocol_broken');
    } catch (error) {
      throw readable(method, error, connection.signal.aborted);
    } finally {
      limit?.clear();
    }
  }

  try {
    const { agent } = acp.methods;
    const hello = await ask(
      agent.initialize,
      {
        protocolVersion: acp.PROTOCOL_VERSION,
        clientInfo: { name: 'core', version: ownVersion() },
        clientCapabilities: {
          fs: { readTextFile: session.files, writeTextFile: session.files },
          terminal: false,
        },
      },
      InitializeReply,
      startMs,
    );
    if (hello.protocolVersion !== acp.PROTOCOL_VERSION) {
      throw new Failed(
        'agent_protocol_broken',
        `the agent speaks version ${hello.protocolVersion} of the Agent Client Protocol; Core speaks version ${acp.PROTOCOL_VERSION}`,
        { hint: 'install a version of the agent that speaks it' },
      );
    }
    watch.started();
    const methodId = session.authenticate;
    if (methodId !== null && hello.authMethods?.some(({ id }) => id === methodId))
      await ask(agent.authenticate, { methodId }, t.unknown, startMs);
    const { sessionId, modes } = await ask(
      agent.session.new,
      { cwd: room.folder, mcpServers: serversFor(hello, room.context_address) },
      NewSessionReply,
      startMs,
    );
    if (session.mode !== null) {
      const known = modes?.availableModes.map(({ id }) => id) ?? [];
      if (!known.includes(session.mode)) throw modeUnknown(session.mode, known);
      await ask(agent.session.setMode, { sessionId, modeId: session.mode }, t.unknown, startMs);
    }
    const info = hello.agentInfo;
    await watch.ready(
      info == null
        ? null
        : {
            name: oneLine(info.title ?? info.name, maxName),
            version: info.version == null ? null : oneLine(info.version, maxName),
          },
    );
    const cancel = guarded(
      'a coding agent',
      () => void connection.agent.notify(agent.session.cancel, { sessionId }).catch(() => {}),
    );
    signal.throwIfAborted();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const asked = ask(
        agent.session.prompt,
        { sessionId, prompt: [{ type: 'text', text: prompt }] },
        PromptReply,
      );
      watch.prompted();
      return { stop_reason: oneLine((await asked).stopReason, maxName) };
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  } finally {
    connection.close();
    stream.close();
  }
}

function app({ room, watch }: AcpSession, broken: (error: Failed) => void): acp.ClientApp {
  const { client } = acp.methods;
  const known = new Map<string, ToolCall>();
  let questions = 0;
  return acp
    .client({ name: 'core' })
    .onNotification(
      client.session.update,
      (params: unknown) => agentUpdate(params),
      ({ params: update }) => {
        if (update === null) return;
        if (update.type === 'tool') remember(known, update.call);
        watch.updated(update);
      },
    )
    .onRequest(client.session.requestPermission, decoded(PermissionQuestion), ({ params }) => {
      questions += 1;
      if (questions > maxQuestions) {
        broken(
          new Failed(
            'agent_flooded',
            `the agent asked for permission more than ${maxQuestions} times; it was ended`,
          ),
        );
        return { outcome: { outcome: 'cancelled' } };
      }
      const before = known.get(params.toolCall.toolCallId);
      const tool = mergedCall(before, params.toolCall);
      const answer = permissionFor(tool, room.folder);
      watch.asked(tool, answer);
      return responseFor(answer, params.options);
    })
    .onRequest(client.fs.readTextFile, decoded(ReadFile), async ({ params }) => {
      const { path, line, limit } = params;
      const text = await answered(path, room.readText(path));
      watch.file('read', path, Buffer.byteLength(text));
      if (line == null && limit == null) return { content: text };
      const first = Math.max(1, line ?? 1) - 1;
      const lines = text.split('\n');
      return { content: lines.slice(first, limit == null ? lines.length : first + limit).join('\n') };
    })
    .onRequest(client.fs.writeTextFile, decoded(WriteFile), async ({ params: { path, content } }) => {
      await answered(path, room.writeText(path, content));
      watch.file('write', path, Buffer.byteLength(content));
      return {};
    });
}

const maxKnownCalls = 1_000;

function remember(known: Map<string, ToolCall>, call: ToolCall): void {
  known.set(call.toolCallId, mergedCall(known.get(call.toolCallId), call));
  if (known.size > maxKnownCalls) known.delete(known.keys().next().value!);
}

/** An update says only what is new of a call. */
function mergedCall(before: ToolCall | undefined, call: ToolCall): ToolCall {
  if (before === undefined) return call;
  const said = Object.entries(call).filter(([, value]) => value != null);
  return { ...before, ...Object.fromEntries(said) };
}

function serversFor(
  { agentCapabilities }: t.TypeOf<typeof InitializeReply>,
  address: string | null,
): unknown[] {
  if (address === null || agentCapabilities?.mcpCapabilities?.http !== true) return [];
  return [{ type: 'http', name: 'core-context', url: address, headers: [] }];
}

function decoded<A>(codec: t.Decoder<unknown, A>): (params: unknown) => A {
  return (params) => decode(codec, params, 'the request');
}

/**
 * What the agent did wrong is answered in words; what went wrong inside of Core stays inside. A missing file has a code of its own, by
 * which agents know that they may make it.
 */
async function answered<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof NotFound) throw acp.RequestError.resourceNotFound(path);
    if (error instanceof CoreError) throw acp.RequestError.invalidParams(undefined, error.message);
    throw acp.RequestError.internalError();
  }
}

/** @param closed whether the agent ended the connection */
function readable(method: string, error: unknown, closed: boolean): unknown {
  if (error instanceof CoreError) return error;
  if (!(error instanceof acp.RequestError)) {
    const message = `the agent broke off at ${method}: ${messageOf(error)}`;
    return new Failed('agent_protocol_broken', message, { cause: error, facts: { closed } });
  }
  const said = oneLine(error.message, maxError);
  // -32000: authentication required.
  if (error.code === -32000) {
    return new Refused('agent_login_missing', `the agent wants a login: ${said}`, {
      cause: error,
      hint: 'give it a model of core-model-gateway (dialect), or its login (credentials and network.hosts) in agents.json',
    });
  }
  const data = error.data === undefined ? '' : ` (${JSON.stringify(error.data).slice(0, 500)})`;
  return new Failed('agent_failed', `the agent answered ${method} with an error: ${said}${data}`, {
    cause: error,
  });
}

function modeUnknown(mode: string, known: readonly string[]): Refused {
  return new Refused(
    'agent_mode_unknown',
    `the agent has no mode ${JSON.stringify(mode)}; it has ${oneLine(known.join(', '), maxError) || 'none'}`,
    { hint: 'correct mode of the agent in agents.json' },
  );
}

function timeLimit(method: string, ms: number) {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  const timer = setTimeout(() => {
    reject(
      new Unavailable(
        'agent_silent',
        `the agent did not answer ${method} within ${Math.round(ms / 1000)} s`,
        {
          hint: './core agent check NAME tries it step by step',
        },
      ),
    );
  }, ms);
  return { promise, clear: () => clearTimeout(timer) };
}

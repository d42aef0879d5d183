import type { Readable, Writable } from 'node:stream';
import type { ContextPassage } from './passage.ts';
import type { GitScratchCopy } from './scratch-copy.ts';

/** Sandbox of an agent: its own files at the base commit, and a process that sees only these files and its proxies. */
export interface AgentRoom {
  /** For people, for example `bubblewrap`. */
  readonly kind: string;
  /** Working folder, as the agent sees it. */
  readonly folder: string;
  /** Its home, as the agent sees it. */
  readonly home: string;
  /** Address of the model for the agent; null if it does not use the gateway. */
  readonly model_address: string | null;
  /** Address of the MCP server of the context; null if there is none. */
  readonly context_address: string | null;
  /** Environment variables of the sandbox, for example the proxy to the allowed hosts. */
  readonly environment: Readonly<Record<string, string>>;
  /** Runs the agent to its end, once. An aborted signal ends all its processes. */
  run(process: AgentProcess): Promise<AgentExit>;
  /**
   * A text file of the tree, by the path that the agent has of it. No link is followed.
   * @throws InvalidInput (`path_not_allowed`, `file_not_found`), TooLarge (`file_too_large`)
   */
  readText(path: string): Promise<string>;
  /** Makes folders above the file. @throws as `readText` */
  writeText(path: string, content: string): Promise<void>;
  /**
   * Copies the changes of the agent into the scratch copy, after its end.
   * @throws Refused naming what cannot be part of a change: a device, a link out of the tree, a nested repository, too much
   */
  readBack(): Promise<void>;
  /** Connections to the outside, by host. */
  connections(): readonly Connection[];
  /** Passages of the context service that the agent was shown: each once, without its text. */
  passages(): readonly ContextPassage[];
  /** Removes sockets, folders and processes of the sandbox. Never throws. */
  close(): Promise<void>;
}

export interface AgentProcess {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Files put into its home, by their path there. */
  readonly home: Readonly<Record<string, string | Uint8Array>>;
  readonly seconds: number;
  readonly signal: AbortSignal;
  readonly streams: (streams: { readonly stdin: Writable; readonly stdout: Readable }) => void;
  readonly onStandardError: (chunk: Uint8Array) => void;
}

export interface AgentExit {
  /** null when it was ended by a signal. */
  readonly exit_code: number | null;
  readonly ended_by: 'exit' | 'signal' | 'timeout' | 'memory' | 'cancelled';
  /** Limit that ended it, for people; null if no limit did. */
  readonly note: string | null;
}

export interface Connection {
  readonly host: string;
  readonly connections: number;
  readonly bytes_sent: number;
  readonly bytes_received: number;
}

export interface RoomRequest {
  readonly run_id: string;
  /** Name of the repository in the context service. */
  readonly repository: string;
  /** Files and folders of the host that the agent is run from, seen read-only. */
  readonly programs: readonly string[];
  /** Hosts that the agent may reach, on port 443. */
  readonly hosts: readonly string[];
  /** Files of the person's home, from `~/` on, of which it gets copies. */
  readonly credentials: readonly string[];
  readonly scratch: GitScratchCopy;
  readonly base_commit: string;
  /** Prepared dependencies, seen read-only below the folder. */
  readonly mounts: readonly { readonly source: string; readonly target: string }[];
  /** Gateway for the agent's model, with the key of this run; null if the agent does not use the gateway. */
  readonly model: {
    readonly gateway_url: string;
    readonly key: string;
    /** Called with the gateway's text if it refuses a call because of a limit. */
    readonly onRefused: (message: string) => void;
    /** Called with the reason if the gateway does not answer a call, or breaks off its answer. */
    readonly onLost: (message: string) => void;
  } | null;
  readonly signal: AbortSignal;
}

export interface AgentRooms {
  /**
   * Name of the sandbox on this host, for people; for example `bubblewrap`.
   * @throws Refused (`sandbox_unavailable`)
   */
  sandbox(): Promise<string>;
  /** @throws Refused (`sandbox_unavailable`, `agent_login_missing`) */
  open(request: RoomRequest): Promise<AgentRoom>;
  /** Removes sandboxes that killed processes left behind. */
  sweep(): Promise<void>;
}

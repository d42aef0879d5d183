import type { Readable, Writable } from 'node:stream';
import type { ContextPassage } from './passage.ts';
import type { GitScratchCopy } from './scratch-copy.ts';

/** Where an agent works: files of its own at the base commit, and a process that sees these and its doors alone. */
export interface AgentRoom {
  /** For people, for example `bubblewrap`. */
  readonly kind: string;
  /** Working folder, as the agent sees it. */
  readonly folder: string;
  /** Its home, as the agent sees it. */
  readonly home: string;
  /** Where the agent reaches its model; null where it has none of ours. */
  readonly model_address: string | null;
  /** Where it reaches the MCP server of the context; null where there is none. */
  readonly context_address: string | null;
  /** Variables of its own, for example the proxy to the hosts that it may reach. */
  readonly environment: Readonly<Record<string, string>>;
  /** Runs the agent to its end, once. With an aborted signal it is ended with all its processes. */
  run(process: AgentProcess): Promise<AgentExit>;
  /**
   * A text file of the tree, by the path that the agent has of it. No link is followed.
   * @throws InvalidInput (`path_not_allowed`, `file_not_found`), TooLarge (`file_too_large`)
   */
  readText(path: string): Promise<string>;
  /** Makes folders above the file. @throws as `readText` */
  writeText(path: string, content: string): Promise<void>;
  /**
   * Brings what the agent left in its files into the scratch copy; after its end.
   * @throws Refused naming what cannot be part of a change: a device, a link out of the tree, a nested repository, too much
   */
  readBack(): Promise<void>;
  /** What it reached outside, host by host. */
  connections(): readonly Connection[];
  /** What it was shown of the context service: each file, memory and thing once, without its text. */
  passages(): readonly ContextPassage[];
  /** Takes everything away that the room had: sockets, folders, processes. Never throws. */
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
  /** The limit that ended it, for people; null where none did. */
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
  /** As the context service names it. */
  readonly repository: string;
  /** Files and folders of the host that the agent is run from, seen read-only. */
  readonly programs: readonly string[];
  /** What it may reach on the network, on port 443. */
  readonly hosts: readonly string[];
  /** Files of the person's home, from `~/` on, of which it gets copies. */
  readonly credentials: readonly string[];
  readonly scratch: GitScratchCopy;
  readonly base_commit: string;
  /** Prepared dependencies, seen read-only below the folder. */
  readonly mounts: readonly { readonly source: string; readonly target: string }[];
  /** The model's key for this run, and who takes it; null where the agent asks no model of ours. */
  readonly model: {
    readonly gateway_url: string;
    readonly key: string;
    /** Called with the text of the gateway where it refuses a call for a limit. */
    readonly onRefused: (message: string) => void;
    /** Called with the reason where the gateway does not answer a call, or breaks its answer off. */
    readonly onLost: (message: string) => void;
  } | null;
  readonly signal: AbortSignal;
}

export interface AgentRooms {
  /**
   * What holds agents here, for people; for example `bubblewrap`.
   * @throws Refused (`sandbox_unavailable`)
   */
  sandbox(): Promise<string>;
  /** @throws Refused (`sandbox_unavailable`, `agent_login_missing`) */
  open(request: RoomRequest): Promise<AgentRoom>;
  /** Takes away what killed processes left of theirs. */
  sweep(): Promise<void>;
}

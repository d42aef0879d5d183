import type { Readable, Writable } from 'node:stream';

export interface SandboxLimits {
  readonly seconds: number;
  readonly memory_mib: number;
  readonly processes: number;
  /** In the workspace; no single file may be larger either. */
  readonly disk_mib: number;
  /** Output past this many bytes is dropped, and the result says so. */
  readonly output_bytes: number;
  /** What an interactive command may write to its standard output before it is ended; 256 MiB without it. */
  readonly stream_bytes?: number;
}

/** The standard input and output of an interactive command. Both are closed when the run has ended. */
export interface SandboxStreams {
  readonly stdin: Writable;
  /** A command that writes faster than this is read waits. */
  readonly stdout: Readable;
}

/** An address on the sandbox's own loopback that leads to a Unix socket of the host. */
export interface SandboxDoor {
  /** On 127.0.0.1 inside, at least 1024. */
  readonly port: number;
  readonly socket: string;
}

/** What all output passes before it is kept, shown or cut to its limit. */
export interface OutputFilter {
  push(chunk: Uint8Array): Uint8Array;
  /** What it held back. */
  end(): Uint8Array;
}

export interface SandboxRun {
  /** Host folder that becomes the writable working folder `/workspace`. */
  readonly workspace: string;
  /** Host folders seen read-only below the workspace, for example prepared dependencies at `node_modules`. */
  readonly mounts: readonly { readonly source: string; readonly target: string }[];
  /** A line for `sh -c`. */
  readonly command: string;
  readonly network: boolean;
  readonly limits: SandboxLimits;
  readonly signal?: AbortSignal;
  readonly filter?: OutputFilter;
  /** Called with output as it comes, standard output and standard error in one stream. */
  readonly onOutput?: (chunk: Uint8Array) => void;
  /**
   * Called once the command starts, to speak with it on its own standard input and output; `onOutput`, `filter` and `output` then
   * carry standard error alone.
   */
  readonly interactive?: (streams: SandboxStreams) => void;
  /** They listen before the command starts. Nothing else has a route. */
  readonly doors?: readonly SandboxDoor[];
  /** Lines for `sh` that run in the workspace before the command, while its doors open. What they print counts as standard error. */
  readonly setup?: string;
  /** Variables beside the sandbox's own, which they replace. Their values do not show in any list of processes. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Files and folders of the host that are seen read-only at the same absolute path, for example the programs of an agent. */
  readonly programs?: readonly string[];
  /** Files in the home of the command, which is memory and goes with it, by path relative to it. Readable by it alone. */
  readonly home?: Readonly<Record<string, Uint8Array>>;
}

export interface SandboxResult {
  /** null when it was ended by a signal. */
  readonly exit_code: number | null;
  readonly ended_by: 'exit' | 'signal' | 'timeout' | 'memory' | 'cancelled';
  /** For people, for example `ended after 600 seconds, the limit`; null unless a limit or a cancellation ended it. */
  readonly note: string | null;
  readonly output: Uint8Array;
  readonly truncated: boolean;
  readonly duration_ms: number;
}

/** Sandboxes by name. The weak one hides files and network, and leaves the kernel's own interfaces open. */
export const sandboxKinds = ['bubblewrap', 'unshare (weak)', 'none'] as const;

/** Runs a command that nobody trusts: no network unless asked, read-only system, no view of state, home or tokens. */
export interface Sandbox {
  readonly kind: (typeof sandboxKinds)[number];
  /** Tries whether it works here; `reason` names what is missing and how to get it. */
  check(): Promise<{ readonly works: boolean; readonly reason: string }>;
  /** @throws Refused (`sandbox_too_weak`) where it cannot keep what the run asks for: only bubblewrap has doors, programs and a home */
  run(run: SandboxRun): Promise<SandboxResult>;
}

/**
 * Folders that tools of the JavaScript world write below `node_modules`, though it is read-only in a run. Preparing makes them;
 * a sandbox shows memory in their place.
 */
export const scratchFolders: readonly string[] = ['.cache', '.vite', '.vite-temp'];

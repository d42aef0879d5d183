import type { SandboxStreams } from '../../services/agentd/ports/sandbox.ts';
import { sandboxes } from '../../services/agentd/sandboxes/registry.ts';
import { toolPaths } from '../../services/agentd/sandboxes/tool-paths.ts';

/** A process for tests to kill: runs a command in a sandbox, `sandbox-holder.ts <kind> <workspace> <command> [<socket>]`; with a socket as an agent, that has a door to it. */
const [kind, workspace, command, socket] = process.argv.slice(2) as [
  keyof typeof sandboxes,
  string,
  string,
  string?,
];
await sandboxes[kind]({ tools: toolPaths([], []), networkEnvironment: {} }).run({
  workspace,
  mounts: [],
  command,
  network: false,
  limits: { seconds: 60, memory_mib: 256, processes: 32, disk_mib: 64, output_bytes: 1024 },
  onOutput: (chunk) => process.stdout.write(chunk),
  ...(socket !== undefined && {
    doors: [{ port: 4101, socket }],
    interactive: ({ stdout }: SandboxStreams) => stdout.pipe(process.stdout),
  }),
});

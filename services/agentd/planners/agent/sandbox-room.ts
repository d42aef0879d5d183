import { dirname, join } from 'node:path';
import type { Proxies } from '#kit/http/client.ts';
import { shellWord } from '#kit/shell-word.ts';
import type {
  AgentExit,
  AgentProcess,
  AgentRoom,
  AgentRooms,
  RoomRequest,
} from '../../planning/agent-room.ts';
import type { Sandbox, SandboxDoor, SandboxLimits } from '../../ports/sandbox.ts';
import { type AgentTree, openAgentTree } from './agent-tree.ts';
import { readCredentials } from './credentials.ts';
import { type ContextDoor, type ContextListener, openContextDoor } from './doors/context-door.ts';
import { type DoorFolder, openDoorFolder, sweepDoors } from './doors/door-folder.ts';
import { type EgressDoor, openEgressDoor } from './doors/egress-door.ts';
import { type Door, openModelDoor } from './doors/model-door.ts';
import { TreeFiles } from './tree-files.ts';

export interface SandboxRoomParts {
  readonly stateDir: string;
  /** Of the person, where `~/` of credentials leads. */
  readonly home: string;
  /** The strong one, or the reason why there is none. @throws Refused (`sandbox_unavailable`) */
  readonly sandbox: () => Promise<Sandbox>;
  readonly limits: Omit<SandboxLimits, 'seconds'>;
  /** By which hosts are reached from here. */
  readonly proxies: Proxies;
  /** null where no context service is configured. */
  readonly context: ContextListener | null;
}

/** Where the sandbox shows the tree and its home. */
const [folder, home] = ['/workspace', '/tmp/home'];
const ports = { model: 4101, context: 4102, egress: 4103 } as const;
const maxStreamBytes = 1024 * 1024 * 1024;

/** Rooms in sandboxes, with a door for each thing that the agent may reach. */
export function sandboxRooms(parts: SandboxRoomParts): AgentRooms {
  const sandbox = async () => (await parts.sandbox()).kind;
  return { sandbox, open: (request) => openRoom(parts, request), sweep: () => sweepDoors(parts.stateDir) };
}

async function openRoom(parts: SandboxRoomParts, request: RoomRequest): Promise<AgentRoom> {
  const sandbox = await parts.sandbox();
  const credentials = readCredentials(request.credentials, parts.home);
  const opened: Door[] = [];
  const closeAll = async () => {
    for (const thing of opened.splice(0).reverse()) await thing.close().catch(() => {});
  };
  try {
    const tree = await openAgentTree({
      scratch: request.scratch,
      mirror_dir: request.scratch.gitDir,
      base_commit: request.base_commit,
      folder: join(dirname(request.scratch.gitDir), 'agent'),
      mounts: request.mounts.map(({ target }) => target),
    });
    opened.push({ close: () => tree.remove() });
    const sockets = await openDoorFolder(parts.stateDir);
    opened.push({ close: () => sockets.remove() });
    const doors = await openDoors(parts, request, sockets, opened);
    return new SandboxRoom({
      sandbox,
      limits: parts.limits,
      request,
      tree,
      credentials,
      ...doors,
      close: closeAll,
    });
  } catch (error) {
    await closeAll();
    throw error;
  }
}

interface Doors {
  readonly doors: readonly SandboxDoor[];
  readonly egress: EgressDoor | null;
  readonly asked: ContextDoor | null;
}

async function openDoors(
  { context, proxies }: SandboxRoomParts,
  { model, hosts, repository }: RoomRequest,
  sockets: DoorFolder,
  opened: Door[],
): Promise<Doors> {
  const doors: SandboxDoor[] = [];
  const add = <D extends Door>(name: keyof typeof ports, door: D): D => {
    opened.push(door);
    doors.push({ port: ports[name], socket: sockets.socket(name) });
    return door;
  };
  if (model !== null) {
    const { gateway_url: gatewayUrl, ...rest } = model;
    add('model', await openModelDoor({ socket: sockets.socket('model'), gatewayUrl, ...rest }));
  }
  const asked =
    context === null
      ? null
      : add('context', await openContextDoor(sockets.socket('context'), repository, context));
  const egress =
    hosts.length === 0
      ? null
      : add('egress', await openEgressDoor({ socket: sockets.socket('egress'), hosts, proxies }));
  return { doors, egress, asked };
}

interface SandboxRoomOptions extends Doors {
  readonly sandbox: Sandbox;
  readonly limits: Omit<SandboxLimits, 'seconds'>;
  readonly request: RoomRequest;
  readonly tree: AgentTree;
  readonly credentials: Readonly<Record<string, Uint8Array>>;
  close(): Promise<void>;
}

class SandboxRoom implements AgentRoom {
  readonly kind: string;
  readonly folder = folder;
  readonly home = home;
  readonly model_address: string | null;
  readonly context_address: string | null;
  readonly environment: Readonly<Record<string, string>>;
  readonly #options: SandboxRoomOptions;
  readonly #files: TreeFiles;

  constructor(options: SandboxRoomOptions) {
    this.#options = options;
    this.kind = options.sandbox.kind;
    const at = (name: keyof typeof ports) =>
      options.doors.some(({ port }) => port === ports[name]) ? `http://127.0.0.1:${ports[name]}` : null;
    this.model_address = at('model');
    this.context_address = at('context') === null ? null : `${at('context')}/mcp`;
    const proxy = at('egress');
    const direct = '127.0.0.1,localhost';
    this.environment =
      proxy === null
        ? {}
        : {
            HTTPS_PROXY: proxy,
            https_proxy: proxy,
            NO_PROXY: direct,
            no_proxy: direct,
            NODE_USE_ENV_PROXY: '1',
          };
    this.#files = new TreeFiles(options.tree.workspace, folder);
  }

  async run({
    command,
    environment,
    home: files,
    seconds,
    signal,
    streams,
    onStandardError,
  }: AgentProcess): Promise<AgentExit> {
    const { sandbox, limits, request, tree, credentials, doors } = this.#options;
    const { exit_code, ended_by, note } = await sandbox.run({
      workspace: tree.workspace,
      mounts: request.mounts,
      setup: tree.setup,
      command: `exec ${command.map(shellWord).join(' ')}`,
      network: false,
      limits: { ...limits, seconds, stream_bytes: maxStreamBytes },
      signal,
      interactive: streams,
      onOutput: onStandardError,
      doors,
      environment,
      programs: request.programs,
      home: {
        ...Object.fromEntries(Object.entries(files).map(([name, content]) => [name, Buffer.from(content)])),
        ...credentials,
      },
    });
    return { exit_code, ended_by, note };
  }

  async readText(path: string): Promise<string> {
    return this.#files.readText(path);
  }

  async writeText(path: string, content: string): Promise<void> {
    this.#files.writeText(path, content);
  }

  async readBack(): Promise<void> {
    await this.#options.tree.readBack();
  }

  connections() {
    return (this.#options.egress?.traffic() ?? []).map(({ refused: _, ...traffic }) => traffic);
  }

  passages() {
    return this.#options.asked?.passages() ?? [];
  }

  close(): Promise<void> {
    return this.#options.close();
  }
}

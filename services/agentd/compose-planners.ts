import { gatewayUrl } from '#kit/config/client-urls.ts';
import type { KnownModel } from '#kit/config/known-models.ts';
import { environment } from '#kit/environment.ts';
import type { Folders } from '#kit/folders.ts';
import { once } from '#kit/once.ts';
import { ownVersion } from '#kit/program.ts';
import type { SecretFinder } from '#kit/redaction/secret-finder.ts';
import { serviceToken } from '#kit/tokens/tokens.ts';
import type { PlanRequest } from './agent.ts';
import { type CapabilityParts, capabilitiesOf } from './capabilities.ts';
import type { httpContext } from './context/http-context.ts';
import type { ConfiguredForge } from './forges/configured-forge.ts';
import { gatewayModel } from './models/gateway-model.ts';
import { gatewayKeys } from './models/run-key.ts';
import { AgentAdmin } from './planners/agent/agent-admin.ts';
import type { ContextListener } from './planners/agent/doors/context-door.ts';
import { sandboxRooms } from './planners/agent/sandbox-room.ts';
import { tools } from './planners/model/tools.ts';
import type { PlannerServices } from './planning/planner.ts';
import type { AgentsConfig } from './planning/roles.ts';
import type { SandboxLimits } from './ports/sandbox.ts';
import { runRequest } from './run-request.ts';
import { chooseSandbox, type SandboxChoice } from './sandboxes/registry.ts';

type HttpContext = ReturnType<typeof httpContext>;

interface PlannerOptions extends Pick<CapabilityParts, 'forges' | 'sandboxTerms'> {
  readonly folders: Folders;
  readonly home: string;
  readonly agents: AgentsConfig;
  /** As models.json says now. */
  readonly models: () => readonly KnownModel[];
  readonly secrets: SecretFinder;
  readonly sandbox: SandboxChoice;
  readonly limits: SandboxLimits;
  /** null where no context service is configured. */
  readonly context: HttpContext | null;
  /** @throws Failed (`forge_not_configured`) */
  forge(name: string): ConfiguredForge;
}

/** Puts together what planners plan with: models by the gateway, and agents in sandboxes. */
export function composePlanners(options: PlannerOptions) {
  const { folders, home, agents, models, secrets, sandbox, limits, context } = options;
  const { forges, forge: forgeNamed, sandboxTerms } = options;
  // Also where a validation may do with less.
  const rooms = sandboxRooms({
    stateDir: folders.state,
    home,
    sandbox: () => chooseSandbox('bubblewrap', false, sandbox),
    limits,
    proxies: environment,
    context: context === null ? null : contextListener(context),
  });
  const gateway = () => ({
    url: gatewayUrl({ folders, environment }),
    token: () => serviceToken(folders, 'agentd'),
  });
  const services: PlannerServices = {
    agents,
    models,
    rooms,
    openRunKey: (request) => gatewayKeys(gateway())(request),
    openModel: (known, tier, run) =>
      gatewayModel({
        ...gateway(),
        known,
        tier,
        run,
        bounds: agents.planner.bounds,
      }),
  };
  const agentAdmin = new AgentAdmin({ folders, home, services, secrets });

  return {
    services,
    agents: agentAdmin,
    tools,
    /** @throws as `runRequest` */
    runRequest: (request: PlanRequest, signal: AbortSignal) =>
      runRequest({ planners: services, forges, forgeNamed, secrets }, request, signal),
    capabilities: () => capabilitiesOf({ planners: services, forges, agents: agentAdmin, sandboxTerms }),
  };
}

/** What an agent may ask about the repository that it works on; the protocol's library is loaded with the first question. */
function contextListener({ search, lookup }: HttpContext): ContextListener {
  return (repository, onRead) => {
    const listener = once(async () => {
      const [{ readOnlyContextServer }, { mcpListener }] = await Promise.all([
        import('./mcp/context-server.ts'),
        import('./mcp/over-http.ts'),
      ]);
      return mcpListener(() =>
        readOnlyContextServer(
          { search, lookup, repository, onRead },
          { version: ownVersion(), onError: () => {} },
        ),
      );
    });
    return async (request, response) => (await listener())(request, response);
  };
}

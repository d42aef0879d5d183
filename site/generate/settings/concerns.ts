import type * as t from 'io-ts';
import { ForgesConfig } from '../../../services/agentd/forges/registry.ts';
import { NotificationsConfig } from '../../../services/agentd/notifications/configuration.ts';
import { AgentsConfig } from '../../../services/agentd/planning/roles.ts';
import { Policy } from '../../../services/agentd/policy.ts';
import { OidcConfig } from '../../../services/agentd/review/oidc/configuration.ts';
import { ValidationConfig } from '../../../services/agentd/validation/configuration.ts';
import { BridgeConfig } from '../../../services/bridge/configuration.ts';
import { SchedulesConfig } from '../../../services/bridge/schedules/configuration.ts';
import { BusConfig } from '../../../services/bus-engine/configuration.ts';
import { ContextConfig } from '../../../services/context/configuration.ts';
import { Settings } from '../../../services/kit/config/settings.ts';
import { GatewayConfig } from '../../../services/model-gateway/configuration.ts';
import { StatusConfig } from '../../../services/status/configuration.ts';

export interface Concern {
  /** Its file is `config/NAME.json`. */
  readonly name: string;
  readonly codec: t.Mixed;
  /** Where the codec is declared, below `services/`. */
  readonly file: string;
  readonly constant: string;
  readonly about: string;
}

/** Every configuration file, in the order of the page. A new one adds its codec here. */
export const concerns: readonly Concern[] = [
  {
    name: 'core',
    codec: Settings,
    file: 'kit/config/settings.ts',
    constant: 'Settings',
    about:
      'The daemon, its log, where the context service is, and the version control tool. Keys of this file are shown without `core.` by `./core config show`.',
  },
  {
    name: 'agents',
    codec: AgentsConfig,
    file: 'agentd/planning/roles.ts',
    constant: 'AgentsConfig',
    about: 'Roles and the planner. See [Planners](../planners.md).',
  },
  {
    name: 'forges',
    codec: ForgesConfig,
    file: 'agentd/forges/registry.ts',
    constant: 'ForgesConfig',
    about: 'Where issues and pull requests are. See [Forges](../forges.md).',
  },
  {
    name: 'policy',
    codec: Policy,
    file: 'agentd/policy.ts',
    constant: 'Policy',
    about: 'What people decided once for all runs. See [risk](../concepts.md#action).',
  },
  {
    name: 'notifications',
    codec: NotificationsConfig,
    file: 'agentd/notifications/configuration.ts',
    constant: 'NotificationsConfig',
    about:
      'Who is told what happens to runs, and where. See [Be told where you are](../guide-notifications.md).',
  },
  {
    name: 'oidc',
    codec: OidcConfig,
    file: 'agentd/review/oidc/configuration.ts',
    constant: 'OidcConfig',
    about:
      'Signing in to the review page by an identity provider. See [Sign in by an identity provider](../guide-single-sign-on.md).',
  },
  {
    name: 'validation',
    codec: ValidationConfig,
    file: 'agentd/validation/configuration.ts',
    constant: 'ValidationConfig',
    about:
      'What is run to check a change, and where. See [Validation and sandbox](../validation-and-sandbox.md).',
  },
  {
    name: 'context',
    codec: ContextConfig,
    file: 'context/configuration.ts',
    constant: 'ContextConfig',
    about: 'core-context. See [Graph and memory](../context.md).',
  },
  {
    name: 'models',
    codec: GatewayConfig,
    file: 'model-gateway/configuration.ts',
    constant: 'GatewayConfig',
    about: 'core-model-gateway. See [Models](../models.md).',
  },
  {
    name: 'bus',
    codec: BusConfig,
    file: 'bus-engine/configuration.ts',
    constant: 'BusConfig',
    about: "core-bus-engine, or where another bus is. See [The bus's engine](../bus-engine.md).",
  },
  {
    name: 'bridge',
    codec: BridgeConfig,
    file: 'bridge/configuration.ts',
    constant: 'BridgeConfig',
    about: 'core-bridge. See [Dashboards](../bridge.md).',
  },
  {
    name: 'schedules',
    codec: SchedulesConfig,
    file: 'bridge/schedules/configuration.ts',
    constant: 'SchedulesConfig',
    about: 'What is planned by the clock. See [Plan on a schedule](../schedules.md).',
  },
  {
    name: 'status',
    codec: StatusConfig,
    file: 'status/configuration.ts',
    constant: 'StatusConfig',
    about: 'What core-status looks at. See [Status report](../status.md).',
  },
];

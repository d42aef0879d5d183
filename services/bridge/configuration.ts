import { join } from 'node:path';
import * as t from 'io-ts';
import { Hostname, Tls } from '#kit/config/address.ts';
import { readConcern } from '#kit/config/concern.ts';
import type { KnownForge } from '#kit/config/known-forges.ts';
import { type AddressSources, addressChanges } from '#kit/config/service-address.ts';
import { ForgeName, textOfAtMost } from '#kit/contracts/bridge/text.ts';
import { ActorRight } from '#kit/contracts/plan.ts';
import { integerBetween, nullable, oneOf, optional, stringThat } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import { dialectOf, type WebhookForge, webhookForges } from '#kit/forges/registry.ts';

/** What a secret is called is no secret, and no path: it lies in the secrets folder. */
const SecretName = stringThat(
  'SecretName',
  'the name of a file in the secrets folder: letters, digits and . _ -, for example board-webhook',
  (text) => /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text),
);

const DashboardName = stringThat(
  'DashboardName',
  'a short name of lower-case letters, digits and dashes, for example board',
  (text) => /^[a-z][a-z0-9-]{0,39}$/.test(text),
);

const DeliveryUrl = stringThat(
  'DeliveryUrl',
  'an http or https address without user or fragment, for example https://board.example.org/hooks/core',
  (text) => {
    const url = URL.parse(text);
    return url !== null && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.hash;
  },
);

const forgeIngress = (kind: WebhookForge) =>
  t.strict({
    /** null: signed deliveries are refused. */
    secret: nullable(SecretName),
    /** Whose webhooks come in; null: by the address of the issue. */
    forge: nullable(ForgeName),
    /** Deliveries of other actions are answered and forgotten. */
    actions: t.array(oneOf(dialectOf(kind).actions)),
    /** Right that the account behind a delivery needs in the repository. */
    by: ActorRight,
    /** Only issues with this label; null: all. */
    label: nullable(textOfAtMost(200)),
  });
export type ForgeIngressConfig = t.TypeOf<ReturnType<typeof forgeIngress>>;

/** The kinds of forges that send webhooks, each with what comes in from it. */
const forgeIngresses = {
  /** Webhooks of GitHub. */
  github: forgeIngress('github'),
  /** Webhooks of Gitea and Forgejo. */
  gitea: forgeIngress('gitea'),
} satisfies Record<WebhookForge, t.Mixed>;

const DashboardConfig = t.strict({
  /** Stands in deliveries and lists. */
  name: DashboardName,
  /** Where deliveries go. */
  url: DeliveryUrl,
  /** Signs what is sent; null sends it unsigned. */
  secret: nullable(SecretName),
  /** Seconds for one answer. Default 10. */
  timeout_s: optional(integerBetween(1, 120)),
});
export type DashboardConfig = t.TypeOf<typeof DashboardConfig>;

/** What `config/bridge.json` holds. */
export const BridgeConfig = t.strict({
  /** The interface it listens on. */
  host: Hostname,
  /** 0 takes any free port. */
  port: integerBetween(0, 65_535),
  /** Names besides the loopback's that may stand in `Host`. */
  allowed_hosts: t.array(Hostname),
  /** Whether reading needs a token too. */
  require_token_for_reads: t.boolean,
  /** TLS ends at a proxy in front of the service. */
  behind_proxy: t.boolean,
  /** null: no TLS. */
  tls: nullable(Tls),
  /** Bytes of one event or delivery. */
  body_bytes: integerBetween(1_024, 32 * 1024 * 1024),
  /** What comes in. */
  ingress: t.strict({
    /** Seconds that the time of a signature may be from ours. */
    signature_seconds: integerBetween(10, 3_600),
    /** A label of this and a role's key chooses the role; null: labels choose none. */
    role_label: nullable(textOfAtMost(100)),
    /** Events of dashboards. */
    dashboard: t.strict({
      /** Name of the secret that signs them; null: only with a token. */
      secret: nullable(SecretName),
      /** Only issues that are in one of these; null: in any. */
      statuses: nullable(t.array(textOfAtMost(200))),
    }),
    ...forgeIngresses,
  }),
  /** How events become plans. */
  processing: t.strict({
    /** false: events wait for process-next. */
    automatic: t.boolean,
    /** Events that are planned at once by itself. */
    concurrency: integerBetween(1, 32),
    /** Failed attempts after which an event is dead. */
    attempts: integerBetween(1, 100),
    /** Seconds until the second attempt; each further one waits six times as long. */
    first_retry_seconds: integerBetween(1, 3_600),
    /** The longest wait between two attempts, in seconds. */
    most_retry_seconds: integerBetween(1, 86_400),
    /** A forge's event is skipped where the issue says what it said when it was planned so short a time ago. */
    same_content_seconds: integerBetween(0, 86_400),
  }),
  /** For how long it is kept what became of events; longer while reports of their runs to dashboards are due. */
  retention: t.strict({
    /** Of those that were planned or skipped. */
    days: integerBetween(1, 3_650),
    /** Of those that are dead. */
    dead_days: integerBetween(1, 3_650),
  }),
  /** Reports to dashboards. */
  sync: t.strict({
    /** How often runs are checked, if a dashboard is configured. */
    seconds: integerBetween(5, 86_400),
    /** Runs that began before are not reported any more. */
    days: integerBetween(1, 3_650),
    /** Failed deliveries after which one is given up. */
    attempts: integerBetween(1, 100),
    /** Who gets the reports. */
    dashboards: t.array(DashboardConfig),
  }),
});
export type BridgeConfig = t.TypeOf<typeof BridgeConfig>;

/**
 * Flag, environment, user's file, shipped default, in that order.
 * @throws InvalidInput (`config_invalid`) naming file, JSON pointer, value and rule
 */
export function readBridgeConfig(sources: AddressSources, forges: readonly KnownForge[]): BridgeConfig {
  const fromFiles = readConcern(BridgeConfig, 'bridge', sources.folders);
  const path = join(sources.folders.config, 'bridge.json');
  const [wrong] = [...repeatedDashboards(fromFiles), ...forgesThatAreNone(fromFiles, forges)];
  if (wrong !== undefined)
    throw new InvalidInput('config_invalid', `${path}: ${wrong}`, { hint: `Correct ${path}.` });
  return { ...fromFiles, ...addressChanges('bridge', sources) };
}

function repeatedDashboards({ sync }: BridgeConfig): string[] {
  const names = sync.dashboards.map(({ name }) => name);
  const twice = names.findIndex((name, index) => names.indexOf(name) !== index);
  if (twice < 0) return [];
  return [`/sync/dashboards/${twice}/name is "${names[twice]}": must not be the name of another dashboard`];
}

function forgesThatAreNone({ ingress }: BridgeConfig, forges: readonly KnownForge[]): string[] {
  return webhookForges.flatMap((kind) => {
    const { forge } = ingress[kind];
    const names = forges.filter((one) => one.kind === kind).map(({ name }) => name);
    if (forge === null || names.includes(forge)) return [];
    const must =
      names.length === 0
        ? `must be null, as forges.json has no forge of kind ${kind}`
        : `must be null or one of ${names.join(', ')}`;
    return [`/ingress/${kind}/forge is "${forge}": ${must}`];
  });
}

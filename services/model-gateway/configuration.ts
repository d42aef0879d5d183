import * as t from 'io-ts';
import { AbsolutePath, Hostname, Tls } from '#kit/config/address.ts';
import { type ConcernDocument, decodeConcern, readConcernDocument } from '#kit/config/concern.ts';
import { isObject } from '#kit/config/merge.ts';
import { type AddressSources, addressChanges } from '#kit/config/service-address.ts';
import {
  decode,
  integerBetween,
  NonEmptyString,
  nullable,
  numberBetween,
  oneOf,
  optional,
  stringThat,
} from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';

const day = 24 * 3_600_000;

export const ModelName = stringThat(
  'ModelName',
  'letters, digits and . _ : / @ + -, at most 100, for example large or qwen3:8b',
  (text) => /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,99}$/.test(text),
);

/** What a credential is called is no secret, and no path: it lies in the secrets folder. */
export const SecretName = stringThat(
  'SecretName',
  'the name of a file in the secrets folder: letters, digits and . _ -, for example openai',
  (text) => /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text),
);

/**
 * Where the endpoints of an upstream begin. What names a person or is a query cannot stand there, and is not shown: it may be a
 * secret.
 */
export const BaseUrl = new t.Type<string>(
  'BaseUrl',
  isBaseUrl,
  (u, context) => (isBaseUrl(u) ? t.success(u) : t.failure(withoutSecrets(u), context, baseUrlRule)),
  t.identity,
);

const baseUrlRule =
  'must be an http or https address without user, query, fragment or white space, for example https://api.openai.com/v1';

function isBaseUrl(u: unknown): u is string {
  // An address with white space would be read as another one.
  if (typeof u !== 'string' || /\s/.test(u) || !URL.canParse(u)) return false;
  const { protocol, username, password, search, hash } = new URL(u);
  return /^https?:$/.test(protocol) && [username, password, search, hash].join('') === '';
}

function withoutSecrets(u: unknown): unknown {
  if (typeof u !== 'string') return u;
  return u.replace(/\/\/[^/]*@/, '//…@').replace(/[?#].*$/s, (rest) => `${rest[0]}…`);
}

const Dollars = numberBetween(0, 1_000_000, 'US dollars from 0 to 1000000');

/** US dollars for a million tokens. */
export const Price = t.intersection([
  t.strict({ input: Dollars, output: Dollars }),
  t.exact(
    t.partial({
      /** Input read from a cache; without it, as `input`. */
      cached: nullable(Dollars),
      /** Input written to a cache; without it, as `input`. */
      cache_writes: nullable(Dollars),
      /** Input written to a cache that keeps it for longer than 5 minutes; without it, as `cache_writes`. */
      cache_writes_1h: nullable(Dollars),
    }),
  ),
]);
export type Price = t.TypeOf<typeof Price>;

export const upstreamKinds = ['openai', 'anthropic', 'google'] as const;

export const UpstreamEntry = t.intersection([
  t.strict({
    /** Which interface it speaks. */
    kind: oneOf(upstreamKinds),
    /** Up to and with `/v1`, for `google` `/v1beta`. */
    base_url: BaseUrl,
    /** Its name there. */
    model: NonEmptyString,
  }),
  t.exact(
    t.partial({
      /** Absent or null: the upstream wants none. A key lies in a secret file of this name. */
      credential: nullable(SecretName),
      /** US dollars for a million tokens. Absent or null: calls cost nothing. */
      price: nullable(Price),
      /** Calls at once; absent or null is no limit. */
      concurrency: nullable(integerBetween(1, 10_000)),
      /** False for an upstream that does not know `stream_options`; usage of its streams is then estimated. */
      stream_usage: t.boolean,
      /** Whether an `openai` upstream has the Responses interface too; absent: at OpenAI and Azure. */
      responses: t.boolean,
      /** Which member an `openai` upstream reads as the limit of an answer; absent: what is usual where it is. */
      limit_member: oneOf(['max_tokens', 'max_completion_tokens']),
    }),
  ),
]);
export type UpstreamEntry = t.TypeOf<typeof UpstreamEntry>;

const Upstreams = t.refinement(
  t.array(UpstreamEntry),
  (upstreams) => upstreams.length > 0,
  'a list with at least one upstream',
);

export const ModelEntry = t.intersection([
  t.strict({
    /** In the order in which they are asked. */
    upstreams: Upstreams,
  }),
  t.exact(
    t.partial({
      /** Default `chat`. */
      kind: oneOf(['chat', 'embeddings']),
      /** Which of the planner's tiers it serves. */
      tier: nullable(oneOf(['large', 'small'])),
      limits: t.exact(
        t.partial({
          /** Tokens that input and output have room in; shown to clients. */
          context_tokens: optional(nullable(integerBetween(1, 100_000_000))),
          /** Tokens of one answer. More is refused; it is also what an answer without `max_tokens` reserves. */
          output_tokens: optional(nullable(integerBetween(1, 10_000_000))),
        }),
      ),
    }),
  ),
]);
export type ModelEntry = t.TypeOf<typeof ModelEntry>;

/** What `config/models.json` holds. */
export const GatewayConfig = t.strict({
  /** Where it listens; beside the loopback interface it needs `tls` or `behind_proxy`. */
  host: Hostname,
  /** 0 takes any free port. */
  port: integerBetween(0, 65_535),
  /** Names besides the loopback's that may stand in `Host`. */
  allowed_hosts: t.array(Hostname),
  /** Whether reading on the loopback interface needs a token too. */
  require_token_for_reads: t.boolean,
  /** TLS ends at a proxy in front of the service. */
  behind_proxy: t.boolean,
  /** null: plain HTTP. */
  tls: nullable(Tls),
  /** By the name that clients say. */
  models: t.record(t.string, ModelEntry),
  timeouts: t.strict({
    /** Until a connection stands. */
    connect_ms: integerBetween(1, day),
    /** Until the first byte of a stream. */
    first_token_ms: integerBetween(1, day),
    /** Between two pieces of an answer. */
    idle_ms: integerBetween(1, day),
    /** For the call with all its attempts. */
    total_ms: integerBetween(1, day),
  }),
  /** Attempts at one upstream after the first. */
  retries: integerBetween(0, 10),
  /** For upstreams with a limit on calls at once: how many wait for each, and for how long. */
  queue: t.strict({ waiting: integerBetween(0, 100_000), wait_ms: integerBetween(1, day) }),
  /** US dollars that the whole installation may spend a day (UTC); null is no limit. */
  budgets: t.strict({ day: nullable(Dollars) }),
  /** Whether upstreams are asked, asked and recorded, or answers come from recordings. */
  mode: oneOf(['live', 'record', 'replay']),
  /** Folder of the recordings; null is one in the state folder. */
  recordings: nullable(AbsolutePath),
});
export type GatewayConfig = t.TypeOf<typeof GatewayConfig>;

/**
 * Flag, environment, user's file, shipped default, in that order.
 * @throws InvalidInput (`config_invalid`) naming file, JSON pointer, value and rule
 */
export function readGatewayConfig(sources: AddressSources): GatewayConfig {
  const { config } = readModelsFile(sources.folders);
  return { ...config, ...addressChanges('models', sources) };
}

/** The same without flags and environment. @throws InvalidInput (`config_invalid`) */
export function readModelsFile(folders: Pick<Folders, 'config'>): {
  readonly files: ConcernDocument;
  readonly config: GatewayConfig;
} {
  const files = readConcernDocument('models', folders);
  const { path } = files.user;
  checkNames(path, files.user.document);
  const config = decodeConcern(GatewayConfig, files);
  checkModels(path, config);
  return { files, config };
}

/** Of a document that is not decoded yet: a name such as __proto__ would be lost then. */
function checkNames(file: string, document: unknown): void {
  const models = isObject(document) ? document.models : undefined;
  if (!isObject(models)) return;
  for (const name of Object.keys(models)) {
    decode(ModelName, name, `${file}: the name of a model in /models`, 'config_invalid');
  }
}

/**
 * Names of a model's upstreams, for people and measurements: host and the model's name there, numbered where two are the same.
 * Neither can be a secret.
 */
export function upstreamNames({ upstreams }: ModelEntry): string[] {
  const names = upstreams.map(({ base_url, model }) => `${new URL(base_url).host}/${model}`);
  return names.map((name, position) => {
    const before = names.slice(0, position).filter((other) => other === name).length;
    return before === 0 ? name : `${name}#${before + 1}`;
  });
}

/** What holds between the entries of models. @throws InvalidInput (`config_invalid`) */
export function checkModels(file: string, { models }: Pick<GatewayConfig, 'models'>): void {
  const ofTier = new Map<string, string>();
  for (const [name, entry] of Object.entries(models)) {
    checkKinds(file, name, entry);
    const { tier = null, kind = 'chat' } = entry;
    if (tier === null || kind !== 'chat') continue;
    const other = ofTier.get(tier);
    if (other !== undefined) {
      throw invalid(
        `${file}: ${pointerTo(name)}/tier is ${JSON.stringify(tier)}, as that of ${pointerTo(other)}: must be of one chat model, which the planner's roles then ask; leave it out, or make one an upstream of the other`,
      );
    }
    ofTier.set(tier, name);
  }
}

const notEmbedding: Readonly<Partial<Record<UpstreamEntry['kind'], string>>> = {
  anthropic: 'Anthropic has none',
  google: 'those of Google are asked by its OpenAI-compatible interface',
};

function checkKinds(file: string, name: string, { kind, tier, upstreams }: ModelEntry): void {
  for (const [position, upstream] of upstreams.entries()) {
    const at = `${file}: ${pointerTo(name)}/upstreams/${position}`;
    const why = notEmbedding[upstream.kind];
    if (kind === 'embeddings' && why !== undefined) {
      throw invalid(
        `${at}/kind is ${JSON.stringify(upstream.kind)}: must be "openai" for a model of kind embeddings, as ${why}`,
      );
    }
    if (upstream.responses !== undefined && upstream.kind !== 'openai') {
      throw invalid(`${at}/responses is for upstreams of kind "openai": must be left out`);
    }
  }
  if (tier != null && upstreams.every((one) => one.kind === 'google')) {
    throw invalid(
      `${file}: ${pointerTo(name)}/tier is ${JSON.stringify(tier)}: must be left out, as the planner asks by chat completions, which upstreams of kind "google" do not speak; Gemini does at its OpenAI-compatible interface`,
    );
  }
}

function pointerTo(name: string): string {
  return `/models/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function invalid(message: string): InvalidInput {
  return new InvalidInput('config_invalid', message);
}

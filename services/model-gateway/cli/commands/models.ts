import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { choice } from '#kit/cli/choice.ts';
import { printNote, printResult } from '#kit/cli/output.ts';
import type { CommandContext, RunCommand } from '#kit/cli/program.ts';
import { type Column, tableLines } from '#kit/cli/table.ts';
import { runningService } from '#kit/config/running-service.ts';
import { type Environment, environment } from '#kit/environment.ts';
import { exitCodes, Unavailable } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import {
  checkModels,
  type Price,
  readGatewayConfig,
  upstreamKinds,
  upstreamNames,
} from '../../configuration.ts';
import { minHiddenLength } from '../../providers/mask.ts';
import { isOwnSecret, secretFrom } from '../key-file.ts';
import { askOptions, entryFrom, type GivenOptions, requireOptions } from '../model-options.ts';
import {
  changeModels,
  type Existing,
  modelFolders,
  secretsOnlyIn,
  withModel,
  withoutModel,
} from '../models-file.ts';
import { noModel, openUpstreams, probe } from '../upstreams-of.ts';

interface AddFlags extends Omit<GivenOptions, 'name'> {
  readonly yes?: boolean;
  readonly try: boolean;
  readonly replace?: boolean;
  readonly fallback?: boolean;
}

const waitMs = 60_000;

export function define(program: Command, run: RunCommand): void {
  program
    .command('add')
    .description('configure a model: try a request, then write it into models.json')
    .argument('[name]', 'what it is called here')
    .addOption(choice('--kind <kind>', 'openai is also everything compatible', upstreamKinds))
    .option('--url <address>', 'up to and with /v1, of google /v1beta')
    .option('--model <name>', 'what it is called there')
    .option('--key-file <file>', 'holds the key, which is copied to the secrets; - is standard input')
    .option('--secret-name <name>', 'what the copy of the key is called; default is a free name')
    .addOption(choice('--tier <tier>', 'which roles plan with it', ['large', 'small']))
    .option('--price <list>', 'INPUT,OUTPUT[,CACHED[,CACHE_WRITES]] in US dollars for a million tokens')
    .option('--responses', 'an openai address has the Responses interface too, as that of OpenAI has')
    .option('--embeddings', 'it makes embeddings')
    .option('--fallback', 'a further upstream of a model that is configured')
    .option('--replace', 'in place of a model that is configured')
    .option('--no-try', 'write it without trying a request')
    .option('--yes', 'ask nothing')
    .action((name: string | undefined, flags: AddFlags) =>
      run((context) => add(context, { ...flags, ...(name === undefined ? {} : { name }) })),
    );
  program
    .command('list')
    .description('the configured models')
    .action(() => run(async (context) => list(context)));
  program
    .command('remove')
    .description('take a model out of models.json, and the copies of its keys that nothing else uses')
    .argument('<name>', 'which one')
    .option('--keep-secret', 'leave the copies of its keys')
    .action((name: string, { keepSecret = false }: { keepSecret?: boolean }) =>
      run(async (context) => remove(context, name, keepSecret)),
    );
}

async function add(context: CommandContext, flags: AddFlags & GivenOptions): Promise<number> {
  const { home, json } = context;
  const folders = modelFolders(home);
  const asks = flags.yes !== true && !json && process.stdin.isTTY === true && process.stdout.isTTY === true;
  const options = asks ? await askOptions(flags, context.display.symbols) : requireOptions(flags);
  const existing: Existing =
    flags.replace === true ? 'replace' : flags.fallback === true ? 'fallback' : 'refuse';
  // Before a key is copied it is sure that the entry can be written.
  checkModels(
    join(folders.config, 'models.json'),
    withModel(
      readGatewayConfig({ folders, environment }),
      options.name,
      entryFrom({ ...options, credential: null }),
      existing,
    ),
  );
  const secret = options.keyFile === undefined ? null : secretFrom(options.keyFile, folders, options);
  const entry = entryFrom({ ...options, credential: secret?.name ?? null });
  const tried = flags.try
    ? await tryIt(folders, options.name, entry).catch(forgetting(secret, folders))
    : null;
  const path = changeModels(folders, (config) => withModel(config, options.name, entry, existing));
  if (secret?.isShort === true) {
    printNote(
      `warning: the key has fewer than ${minHiddenLength} characters, so that it is not hidden where an upstream repeats it\n`,
      context.display,
    );
  }
  printResult(context, { name: options.name, path, tried, entry }, () => [
    ...(tried === null ? [] : [`${options.name} answers: ${tried.detail}, ${tried.ms} ms`]),
    ...(secret === null ? [] : [`its key is in ${join(folders.secrets, secret.name)}`]),
    `${options.name} is in ${path}`,
    whenItCounts(folders),
  ]);
  return exitCodes.done;
}

/** A key that was copied for nothing is taken away again. */
function forgetting(
  secret: ReturnType<typeof secretFrom> | null,
  { secrets }: Folders,
): (error: unknown) => never {
  return (error) => {
    if (secret?.made === true) rmSync(join(secrets, secret.name), { force: true });
    throw error;
  };
}

/** @throws Unavailable (`model_does_not_answer`); nothing was written to models.json */
async function tryIt(folders: Folders, name: string, entry: ReturnType<typeof entryFrom>) {
  const config = readGatewayConfig({ folders, environment });
  const { all, close } = openUpstreams({ ...config, models: { [name]: entry } }, folders, 'add');
  try {
    const [{ upstream, endpoints }] = all as [(typeof all)[number]];
    const tries = await Promise.all(endpoints.map((endpoint) => probe(upstream, endpoint, waitMs)));
    const failed = tries.findIndex(({ ok }) => !ok);
    if (failed === -1) return tries[0]!;
    throw new Unavailable(
      'model_does_not_answer',
      `${upstream.name} does not answer ${endpoints[failed]}: ${tries[failed]!.detail}`,
      {
        hint: 'Nothing was configured. Correct what is wrong, or give --no-try to configure it as it is.',
      },
    );
  } finally {
    await close();
  }
}

const columns: readonly Column[] = [
  { title: 'model' },
  { title: 'for', gives: { turn: 4, to: 'gone' } },
  { title: 'tier' },
  { title: 'kind', gives: { turn: 3, to: 'gone' } },
  { title: 'upstream', gives: { turn: 1, to: 12 }, excess: 'wrap' },
  { title: 'price per million', gives: { turn: 2, to: 12 }, excess: 'wrap' },
  { title: 'credential', gives: { turn: 5, to: 12 }, excess: 'wrap' },
];

async function list(context: CommandContext): Promise<number> {
  const folders = modelFolders(context.home);
  const config = readGatewayConfig({ folders, environment });
  const { all, close } = openUpstreams(config, folders, 'list');
  void close();
  const rows = Object.entries(config.models).flatMap(([name, entry]) =>
    upstreamNames(entry).map((upstream, index) => {
      const { kind, price, credential } = entry.upstreams[index]!;
      const state = all.find((one) => one.model === name && one.upstream.name === upstream)!.credential;
      return [
        index === 0 ? name : '',
        entry.kind ?? 'chat',
        entry.tier ?? '',
        kind,
        upstream,
        price == null ? 'none' : priceText(price),
        credential == null ? 'none' : `${credential} (${state})`,
      ];
    }),
  );
  printResult(context, { models: config.models }, (_, display) =>
    rows.length === 0 ? [noModel(context.program)] : tableLines(columns, rows, display),
  );
  return exitCodes.done;
}

function priceText({ input, output, cached, cache_writes: writes }: Price): string {
  const caches = `${cached == null ? '' : `, $${cached} cached`}${writes == null ? '' : `, $${writes} cache writes`}`;
  return `$${input} in, $${output} out${caches}`;
}

/** Takes a model out, then the copies of keys that `model add` made for it alone; other secrets are listed and stay. */
export function remove(context: CommandContext, name: string, keepSecret: boolean): number {
  const folders = modelFolders(context.home);
  let unused: readonly string[] = [];
  const path = changeModels(folders, (config) => {
    const changed = withoutModel(config, name);
    unused = secretsOnlyIn(config, changed);
    return changed;
  });
  const removed = keepSecret ? [] : unused.filter(isOwnSecret);
  for (const secret of removed) rmSync(join(folders.secrets, secret), { force: true });
  const kept = unused.filter((secret) => !removed.includes(secret));
  const paths = (names: readonly string[]) => names.map((one) => join(folders.secrets, one)).join(', ');
  printResult(context, { name, path, secrets: { removed, kept } }, () => [
    `${name} is no longer in ${path}`,
    ...(removed.length > 0 ? [`removed with it: ${paths(removed)}`] : []),
    ...(kept.length > 0 ? [`kept, and used by no model: ${paths(kept)}`] : []),
    whenItCounts(folders),
  ]);
  return exitCodes.done;
}

/** When a change of models.json counts: a gateway reads the file again before its next call. */
export function whenItCounts(folders: Pick<Folders, 'state'>, variables: Environment = environment): string {
  const running = runningService('core-model-gateway', folders);
  const url = running?.url ?? variables.CORE_MODELS_URL;
  return url
    ? `the gateway at ${url} goes by it from now on`
    : 'no gateway runs here; the next one that starts goes by it';
}

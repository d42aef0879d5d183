import type { Symbols } from '#kit/cli/display.ts';
import { promptTheme, selectTheme } from '#kit/cli/prompt-theme.ts';
import { decode, NonEmptyString } from '#kit/decode.ts';
import { Interrupted, InvalidInput, messageOf } from '#kit/errors.ts';
import { BaseUrl, ModelEntry, ModelName, type Price } from '../configuration.ts';
import { readKey } from './key-file.ts';

/**
 * @param options.credential name of the secret file; null for none
 * @throws InvalidInput (`invalid_option`) naming the value, the rule and the choices
 */
export function entryFrom(options: AskedOptions & { readonly credential: string | null }): ModelEntry {
  decode(ModelName, options.name, 'the name of the model', 'invalid_option');
  const { kind, url, model, credential, tier, embeddings, responses } = options;
  const upstream = {
    kind,
    base_url: url.replace(/\/+$/, ''),
    model,
    credential,
    price: options.price === undefined ? null : priceFrom(options.price),
    ...(responses === true && { responses }),
  };
  const entry = {
    kind: embeddings === true ? 'embeddings' : 'chat',
    tier: tier ?? null,
    upstreams: [upstream],
  };
  return decode(ModelEntry, entry, 'the entry', 'invalid_option');
}

/** @throws InvalidInput (`invalid_option`) */
export function priceFrom(text: string): Price {
  const numbers = text
    .split(',')
    .map((part) => (/^\s*\d+(\.\d+)?\s*$/.test(part) ? Number(part) : Number.NaN));
  const [input = Number.NaN, output = Number.NaN, cached, cache_writes] = numbers;
  if (numbers.length > 4 || numbers.some(Number.isNaN) || Number.isNaN(output)) {
    throw new InvalidInput(
      'invalid_option',
      `--price is ${JSON.stringify(text)}: must be INPUT,OUTPUT[,CACHED[,CACHE_WRITES]] in US dollars for a million tokens, for example 1.25,10,0.125`,
    );
  }
  return {
    input,
    output,
    ...(cached !== undefined && { cached }),
    ...(cache_writes !== undefined && { cache_writes }),
  };
}

/** What people run, with the address where it usually is. */
export const knownPlaces = [
  { name: 'OpenAI', kind: 'openai', url: 'https://api.openai.com/v1', key: true },
  { name: 'Anthropic', kind: 'anthropic', url: 'https://api.anthropic.com/v1', key: true },
  {
    name: 'Gemini',
    kind: 'openai',
    url: 'https://generativelanguage.googleapis.com/v1beta/openai',
    key: true,
  },
  {
    name: 'Gemini by its own interface, for agents',
    kind: 'google',
    url: 'https://generativelanguage.googleapis.com/v1beta',
    key: true,
  },
  { name: 'Ollama on this machine', kind: 'openai', url: 'http://127.0.0.1:11434/v1', key: false },
  { name: 'vLLM', kind: 'openai', url: 'http://127.0.0.1:8000/v1', key: false },
  { name: 'llama.cpp', kind: 'openai', url: 'http://127.0.0.1:8080/v1', key: false },
] as const;

export interface GivenOptions {
  readonly name?: string | undefined;
  readonly kind?: string | undefined;
  readonly url?: string | undefined;
  readonly model?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly secretName?: string | undefined;
  readonly tier?: string | undefined;
  /** `INPUT,OUTPUT[,CACHED[,CACHE_WRITES]]` in US dollars for a million tokens. */
  readonly price?: string | undefined;
  readonly embeddings?: boolean | undefined;
  /** An `openai` address has the Responses interface too. */
  readonly responses?: boolean | undefined;
}

export type AskedOptions = GivenOptions & Record<'name' | 'kind' | 'url' | 'model', string>;

/** What scripts have to give. @throws InvalidInput (`option_missing`) */
export function requireOptions(given: GivenOptions): AskedOptions {
  const { name, url, model } = given;
  if (name !== undefined && url !== undefined && model !== undefined)
    return { ...given, name, url, model, kind: given.kind ?? 'openai' };
  const missing = Object.entries({ 'a name': name, '--url': url, '--model': model })
    .filter(([, value]) => value === undefined)
    .map(([what]) => what);
  throw new InvalidInput('option_missing', `${missing.join(', ')} must be given where nobody can be asked`, {
    hint: 'For example: model add small --url http://127.0.0.1:11434/v1 --model qwen3:8b --yes',
  });
}

/** Asks the person for what was not given. @throws Interrupted (`interrupted`) after Ctrl-C */
export async function askOptions(given: GivenOptions, symbols: Symbols): Promise<AskedOptions> {
  try {
    return await askAll(given, symbols);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'ExitPromptError') throw error;
    throw new Interrupted('interrupted', 'you stopped it; nothing was configured');
  }
}

async function askAll(given: GivenOptions, symbols: Symbols): Promise<AskedOptions> {
  const { input, select } = await import('@inquirer/prompts');
  const ask = (message: string, check: (text: string) => unknown, usual?: string) =>
    input({
      message,
      ...(usual === undefined ? {} : { default: usual }),
      theme: promptTheme(symbols),
      validate: (text) => accepted(() => check(text)),
    });
  const place = given.url === undefined ? await askPlace(select, symbols) : null;
  const kind = given.kind ?? place?.kind ?? 'openai';
  const url =
    given.url ??
    (await ask(
      'Address, up to and with /v1 or /v1beta',
      (text) => decode(BaseUrl, text, 'the address'),
      place?.url,
    ));
  const model =
    given.model ??
    (await ask('Name of the model there', (text) => decode(NonEmptyString, text.trim(), 'the name')));
  const name =
    given.name ?? (await ask('Name of the model here', (text) => decode(ModelName, text, 'the name'), model));
  const keyFile =
    given.keyFile ??
    (place?.key === false
      ? undefined
      : (await ask(
          'File that holds the key (nothing: it wants none)',
          (path) => path === '' || readKey(path),
        )) || undefined);
  const tier =
    given.tier ??
    (given.embeddings === true || kind === 'google'
      ? undefined
      : await select({
          message: 'What planners use it for',
          theme: selectTheme(symbols),
          choices: [
            { name: 'large: changes of code', value: 'large' },
            { name: 'small: triage', value: 'small' },
            { name: 'neither', value: undefined },
          ],
        }));
  const price =
    given.price ??
    ((await ask(
      'US dollars per million tokens, INPUT,OUTPUT[,CACHED[,CACHE_WRITES]] (nothing: free)',
      (text) => text === '' || priceFrom(text),
    )) ||
      undefined);
  return { ...given, name, kind, url, model, keyFile, tier, price };
}

/** What inquirer asks of an answer: true, or why it cannot be. */
export function accepted(check: () => unknown): true | string {
  try {
    check();
    return true;
  } catch (error) {
    return messageOf(error);
  }
}

type Select = typeof import('@inquirer/prompts')['select'];
type Place = { readonly kind: string; readonly url: string; readonly key: boolean };

async function askPlace(select: Select, symbols: Symbols): Promise<Place | null> {
  return await select<Place | null>({
    message: 'Where does the model run?',
    theme: selectTheme(symbols),
    choices: [
      ...knownPlaces.map(({ name, ...place }) => ({ name, value: place })),
      { name: 'elsewhere, with an OpenAI-compatible interface', value: null },
    ],
  });
}

import { decode } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import { ModelEntry, ModelName } from '../configuration.ts';

/** As `model add` is given them, or asks for them. */
export interface ModelOptions {
  readonly name: string;
  readonly kind: string;
  readonly url: string;
  /** The model's name there. */
  readonly model: string;
  /** Name of the secret file; null for none. */
  readonly credential: string | null;
  readonly tier?: string | undefined;
  readonly embeddings?: boolean | undefined;
  /** `INPUT,OUTPUT[,CACHED]` in US dollars for a million tokens. */
  readonly price?: string | undefined;
}

/** @throws InvalidInput (`invalid_option`) naming the value, the rule and the choices */
export function entryFrom(options: ModelOptions): ModelEntry {
  decode(ModelName, options.name, 'the name of the model', 'invalid_option');
  const { kind, url, model, credential, tier, embeddings } = options;
  const upstream = {
    kind,
    base_url: url.replace(/\/+$/, ''),
    model,
    credential,
    price: options.price === undefined ? null : priceFrom(options.price),
  };
  const entry = {
    kind: embeddings === true ? 'embeddings' : 'chat',
    tier: tier ?? null,
    upstreams: [upstream],
  };
  return decode(ModelEntry, entry, 'the entry', 'invalid_option');
}

/** @throws InvalidInput (`invalid_option`) */
export function priceFrom(text: string): { input: number; output: number; cached?: number } {
  const numbers = text
    .split(',')
    .map((part) => (/^\s*\d+(\.\d+)?\s*$/.test(part) ? Number(part) : Number.NaN));
  const [input = Number.NaN, output = Number.NaN, cached] = numbers;
  if (numbers.length > 3 || numbers.some(Number.isNaN) || Number.isNaN(output)) {
    throw new InvalidInput(
      'invalid_option',
      `--price is ${JSON.stringify(text)}: must be INPUT,OUTPUT or INPUT,OUTPUT,CACHED in US dollars for a million tokens, for example 1.25,10,0.125`,
    );
  }
  return { input, output, ...(cached === undefined ? {} : { cached }) };
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
  { name: 'Ollama on this machine', kind: 'openai', url: 'http://127.0.0.1:11434/v1', key: false },
  { name: 'vLLM', kind: 'openai', url: 'http://127.0.0.1:8000/v1', key: false },
  { name: 'llama.cpp', kind: 'openai', url: 'http://127.0.0.1:8080/v1', key: false },
] as const;

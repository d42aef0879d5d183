import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as t from 'io-ts';
import { decodeJson } from '#kit/decode.ts';
import { codeOf, Refused, Unavailable } from '#kit/errors.ts';
import { openConnections } from '#kit/http/client.ts';
import { unitVector } from './vectors.ts';

export interface EmbeddingsOptions {
  /** Before `/v1/embeddings`. */
  readonly url: string;
  readonly model: string;
  /** Name of a file in the secrets folder, read on use; null sends no token. */
  readonly credential: string | null;
  readonly secrets: string;
}

const Answer = t.strict({ data: t.array(t.strict({ index: t.number, embedding: t.array(t.number) })) });

const answerMs = 60_000;
const largestAnswer = 32 * 1024 * 1024;

/** Asks an OpenAI-compatible endpoint, such as core-model-gateway, for vectors. */
export class EmbeddingsClient {
  readonly #options: EmbeddingsOptions;
  readonly #connections = openConnections({ connectMs: 5_000, answerLimit: largestAnswer });

  constructor(options: EmbeddingsOptions) {
    this.#options = options;
  }

  get url(): string {
    return this.#options.url;
  }

  get model(): string {
    return this.#options.model;
  }

  /**
   * One vector for each text; null where the model gave none that could be used.
   * @throws Refused (`embeddings_refused`): these texts; Unavailable (`embeddings_unavailable`): nothing now
   */
  async vectors(texts: readonly string[], signal: AbortSignal): Promise<(Float32Array | null)[]> {
    const { url, model } = this.#options;
    const { status, body } = await this.#post(JSON.stringify({ model, input: texts }), signal);
    if (status === 400 || status === 413 || status === 422)
      throw new Refused(
        'embeddings_refused',
        `${url} answered ${status} to ${texts.length} texts for ${model}`,
      );
    if (status !== 200) throw unavailable(`${url} answered ${status} for ${model}`);
    const found: (Float32Array | null)[] = texts.map(() => null);
    for (const { index, embedding } of this.#decoded(body)) found[index] = unitVector(embedding);
    return found.slice(0, texts.length);
  }

  #decoded(body: string): t.TypeOf<typeof Answer>['data'] {
    try {
      return decodeJson(Answer, body, 'the vectors').data;
    } catch (cause) {
      throw unavailable(`${this.#options.url} answered what are no vectors`, cause);
    }
  }

  async #post(body: string, signal: AbortSignal): Promise<{ status: number; body: string }> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(answerMs)]);
    const headers = { 'content-type': 'application/json', ...this.#authorization() };
    try {
      const answer = await this.#connections.request(
        `${this.#options.url.replace(/\/+$/, '')}/v1/embeddings`,
        {
          method: 'POST',
          signal: limit,
          headers,
          body,
        },
      );
      return { status: answer.statusCode, body: await answer.body.text() };
    } catch (cause) {
      throw unavailable(`${this.#options.url} does not answer (${codeOf(cause)})`, cause);
    }
  }

  #authorization(): { authorization?: string } {
    const { credential, secrets } = this.#options;
    if (credential === null) return {};
    try {
      return { authorization: `Bearer ${readFileSync(join(secrets, credential), 'utf8').trim()}` };
    } catch (cause) {
      throw unavailable(`the secret file ${credential} cannot be read (${codeOf(cause)})`, cause);
    }
  }

  async close(): Promise<void> {
    await this.#connections.destroy();
  }
}

function unavailable(message: string, cause?: unknown): Unavailable {
  return new Unavailable('embeddings_unavailable', message, cause === undefined ? {} : { cause });
}

import { join } from 'node:path';
import * as t from 'io-ts';
import { CoreError, codeOf, messageOf, Refused, Unavailable } from '#kit/errors.ts';
import { createHttpClient, type HttpClient } from '#kit/http/client.ts';
import { readSmallFile } from '#kit/small-file.ts';
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

/** Asks an OpenAI-compatible endpoint, such as core-model-gateway, for vectors. */
export class EmbeddingsClient {
  readonly url: string;
  readonly model: string;
  readonly #http: HttpClient;

  constructor({ url, model, credential, secrets }: EmbeddingsOptions) {
    this.url = url;
    this.model = model;
    this.#http = createHttpClient({
      baseUrl: `${url.replace(/\/+$/, '')}/`,
      timeoutMs: answerMs,
      ...(credential !== null && { token: () => readSecret(join(secrets, credential)) }),
    });
  }

  /**
   * One vector for each text; null where the model gave none that could be used.
   * @throws Refused (`embeddings_refused`): these texts; Unavailable (`embeddings_unavailable`): nothing now
   */
  async vectors(texts: readonly string[], signal: AbortSignal): Promise<(Float32Array | null)[]> {
    const body = { model: this.model, input: texts };
    const { data } = await this.#http.post('v1/embeddings', body, Answer, { signal }).catch((cause) => {
      const status = cause instanceof CoreError ? cause.facts.status : null;
      if (status === 400 || status === 413 || status === 422)
        throw new Refused(
          'embeddings_refused',
          `${this.url} answered ${status} to ${texts.length} texts for ${this.model}`,
        );
      throw unavailable(`${this.url} does not answer for ${this.model}: ${messageOf(cause)}`, cause);
    });
    const found: (Float32Array | null)[] = texts.map(() => null);
    for (const { index, embedding } of data) found[index] = unitVector(embedding);
    return found.slice(0, texts.length);
  }

  close(): Promise<void> {
    return this.#http.close();
  }
}

function readSecret(path: string): string {
  try {
    return readSmallFile(path).trim();
  } catch (cause) {
    throw unavailable(`the secret file ${path} cannot be read (${codeOf(cause)})`, cause);
  }
}

function unavailable(message: string, cause: unknown): Unavailable {
  return new Unavailable('embeddings_unavailable', message, { cause });
}

import { codeOf, messageOf } from '../errors.ts';
import { type Connections, openConnections, type Proxies } from '../http/client.ts';
import { retryAfterSeconds } from '../http/retry-after.ts';
import type { SecretFile } from './secret-file.ts';
import { signatureHeader, signatureOf, timestampHeader } from './signature.ts';

/** What is sent to a webhook. */
export interface Message {
  /** The same again is the same message: the receiver may know it by its `idempotency-key`. */
  readonly key: string;
  /** JSON. */
  readonly body: string;
}

/** The receiver did not take a message; whether it has it all the same is not known unless it answered. */
export class DeliveryFailed extends Error {
  /** Whether it is about this message, so that others can be delivered meanwhile. */
  readonly ofMessage: boolean;
  /** Seconds that the receiver wants to be left alone; null where it did not say. */
  readonly retryAfter: number | null;

  constructor(
    message: string,
    {
      ofMessage = false,
      retryAfter = null,
      cause,
    }: Partial<Pick<DeliveryFailed, 'ofMessage' | 'retryAfter' | 'cause'>> = {},
  ) {
    super(message, { cause });
    this.name = 'DeliveryFailed';
    this.ofMessage = ofMessage;
    this.retryAfter = retryAfter;
  }
}

export interface WebhookOptions {
  readonly url: string;
  /** null sends it unsigned. */
  readonly secret: SecretFile | null;
  readonly timeoutMs: number;
  readonly userAgent: string;
  readonly now?: () => number;
  /** On the way to others, never to this machine; default none. */
  readonly proxies?: Proxies;
}

/** Of an answer nobody reads more than this, in bytes. */
const answerLimit = 64 * 1024;

/** Any service that takes a signed POST: 2xx is "taken", everything else is not. Redirects are not followed. */
export class Webhook {
  readonly #options: WebhookOptions;
  readonly #connections: Connections;

  constructor(options: WebhookOptions) {
    this.#options = options;
    this.#connections = openConnections({
      connectMs: Math.min(5_000, options.timeoutMs),
      answerLimit,
      ...(options.proxies === undefined ? {} : { proxies: options.proxies }),
    });
  }

  /** Resolves when the receiver has taken it. @throws DeliveryFailed */
  async deliver({ key, body }: Message, signal?: AbortSignal): Promise<void> {
    const { url, timeoutMs, userAgent } = this.#options;
    const bytes = Buffer.from(body);
    const limit = AbortSignal.timeout(timeoutMs);
    const headers = {
      'content-type': 'application/json',
      'user-agent': userAgent,
      'idempotency-key': key,
      ...this.#signature(bytes),
    };
    try {
      const answer = await this.#connections.request(url, {
        method: 'POST',
        headers,
        body: bytes,
        signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      });
      if (answer.statusCode >= 200 && answer.statusCode < 300) {
        // It is taken, however its words end.
        void answer.body.dump({ limit: answerLimit }).catch(() => {});
        return;
      }
      const text = await answer.body.text().catch(() => '');
      throw refused(answer.statusCode, text, answer.headers);
    } catch (cause) {
      if (cause instanceof DeliveryFailed) throw cause;
      if (limit.aborted) throw new DeliveryFailed(`no answer within ${timeoutMs / 1000} s`, { cause });
      throw new DeliveryFailed(`cannot be reached: ${messageOf(cause) || codeOf(cause)}`, { cause });
    }
  }

  async close(): Promise<void> {
    await this.#connections.destroy();
  }

  #signature(body: Buffer): Record<string, string> {
    const { secret, now = Date.now } = this.#options;
    if (secret === null) return {};
    let secrets: readonly [Buffer, ...Buffer[]];
    try {
      secrets = secret.read();
    } catch (cause) {
      throw new DeliveryFailed(messageOf(cause), { cause });
    }
    const timestamp = String(Math.floor(now() / 1000));
    return {
      [timestampHeader]: timestamp,
      [signatureHeader]: signatureOf(secrets[0], timestamp, body),
    };
  }
}

function refused(
  status: number,
  text: string,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): DeliveryFailed {
  const elsewhere = status >= 300 && status < 400 ? `, which names ${String(headers.location)}` : '';
  const words = text.trim() === '' ? '' : `: ${text.trim().slice(0, 200)}`;
  const busy = status === 408 || status === 425 || status === 429;
  return new DeliveryFailed(`answered ${status}${elsewhere}${words}`, {
    ofMessage: status >= 400 && status < 500 && !busy,
    retryAfter: retryAfterSeconds([headers['retry-after']].flat()[0]),
  });
}

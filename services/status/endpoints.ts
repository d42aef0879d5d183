import { Health, remarkable } from '#kit/contracts/health.ts';
import type { PlatformService } from '#kit/contracts/platform-services.ts';
import type { EndpointReport } from '#kit/contracts/status.ts';
import { decodeJson } from '#kit/decode.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import { openConnections } from '#kit/http/client.ts';

export interface Endpoint {
  readonly service: PlatformService;
  readonly url: string;
  /** Whether it answers `/healthz`; the engine has what its triggers define, and any answer of it will do. */
  readonly health: boolean;
  /** PEM of the certificate that it serves with, where it is known. */
  readonly ca?: string | null;
  /** Somebody gave clients this address: of a proxy, or another host. */
  readonly isGiven?: boolean;
}

const askAgain =
  'It may be busy: ask again, or give it longer with answers.seconds in core.json. Its log says more.';

type Judged = Pick<EndpointReport, 'ok' | 'detail' | 'fix' | 'status' | 'health'>;

/** How one service answers; never throws. */
export async function askEndpoint(
  { service, url, health, ca = null }: Endpoint,
  question: HttpQuestion,
): Promise<Omit<EndpointReport, 'required'>> {
  const started = performance.now();
  const asked = health ? `${url}/healthz` : url;
  const answer = await httpAnswer(asked, { ...question, ca });
  const took_ms = Math.round(performance.now() - started);
  return { url: asked, took_ms, ...judge(service, answer, health) };
}

function judge(service: PlatformService, answer: HttpAnswer, wantsHealth: boolean): Judged {
  if (answer.status === null) {
    const fix = answer.why === 'nobody' ? 'Start it: ./core up' : askAgain;
    return { ok: false, status: null, health: null, detail: answer.message, fix };
  }
  const { status } = answer;
  if (!wantsHealth) return { ok: true, status, health: null, detail: `answers (${status})`, fix: null };
  const health = healthIn(answer.text);
  if (health === null && status >= 502 && status <= 504) {
    const detail = `a proxy answers there, and reaches no ${service} (${status})`;
    return {
      ok: false,
      status,
      health,
      detail,
      fix: `Start a ${service} behind it; the log of the proxy says more.`,
    };
  }
  const problem = problemIn(answer.text);
  if (health === null && problem.detail !== '')
    return { ok: false, status, health, detail: `answers ${status}: ${problem.detail}`, fix: problem.hint };
  if (health === null) {
    const detail = `what answers there is no service of Core (${status})`;
    return { ok: false, status, health, detail, fix: 'End that program, or give the service another port.' };
  }
  if (health.service !== service) {
    const detail = `${health.service} answers there, not ${service}`;
    return { ok: false, status, health, detail, fix: 'Correct the addresses: ./core config show' };
  }
  const ok = health.status === 'standby' || (health.status !== 'failing' && status < 500);
  return {
    ok,
    status,
    health,
    detail: describeHealth(health),
    fix: ok ? null : 'Its checks say why; its log says more.',
  };
}

function healthIn(text: string): Health | null {
  try {
    return decodeJson(Health, text, 'health');
  } catch {
    return null;
  }
}

/** With what is not well, where something is not. */
export function describeHealth(health: Health): string {
  return [health.status, ...remarkable(health).map(([name, detail]) => `${name}: ${detail}`)].join('; ');
}

type HttpAnswer =
  | { readonly status: number; readonly text: string }
  | { readonly status: null; readonly why: 'nobody' | 'silent' | 'broken'; readonly message: string };

export interface HttpQuestion {
  readonly token?: string | null;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** PEM of the certificate to trust; null or absent: those that the system trusts. */
  readonly ca?: string | null;
}

/** Bytes of an answer that are read. */
const maxBytes = 4 * 1024 * 1024;

/** One GET; never throws. */
export async function httpAnswer(
  url: string,
  { token = null, timeoutMs, signal, ca = null }: HttpQuestion,
): Promise<HttpAnswer> {
  const limit = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])]);
  const connections = openConnections({
    connectMs: 2 * timeoutMs,
    answerLimit: maxBytes,
    ...(ca === null ? {} : { ca }),
  });
  let connected = false;
  try {
    const { statusCode, body } = await connections.request(url, {
      method: 'GET',
      signal: limit,
      headers: {
        accept: 'application/json',
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      onSent() {
        connected = true;
      },
    });
    return { status: statusCode, text: await body.text() };
  } catch (error) {
    const { host } = new URL(url);
    if (limit.aborted) {
      const what = connected ? 'accepts connections but does not answer' : 'accepts no connection';
      return { status: null, why: 'silent', message: `${host} ${what} within ${timeoutMs / 1000} s` };
    }
    const code = codeOf(error);
    if (['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'].includes(code))
      return { status: null, why: 'nobody', message: `nobody answers at ${host} (${code})` };
    const isTooLarge = code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE';
    const reason = isTooLarge ? `the answer has more than ${maxBytes} bytes` : messageOf(error);
    return { status: null, why: 'broken', message: `${host}: ${reason}` };
  } finally {
    await connections.destroy();
  }
}

/** What an answer that refuses says of the reason, and of what to do; empty and null where it says none. */
export function problemIn(text: string): { readonly detail: string; readonly hint: string | null } {
  try {
    const { detail, hint } = JSON.parse(text) as { readonly detail?: unknown; readonly hint?: unknown };
    return { detail: String(detail ?? ''), hint: hint === undefined ? null : String(hint) };
  } catch {
    return { detail: '', hint: null };
  }
}

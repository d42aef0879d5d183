import type { Route } from '#kit/http/route.ts';
import { exampleRequest } from '../../site/generate/endpoints/example-request.ts';
import type { Answer } from './documented-answers.ts';
import type { PlannedRun, SitePort, SiteWorld } from './site-world.ts';

/** Examples that the world of the tests has to refuse, and with which code. */
export const refusals: Readonly<Record<string, string>> = {
  'GET /v1/runs/{run_id}/draft': 'no_draft',
  'GET /v1/runs/{run_id}/undo': 'nothing_to_undo',
  'POST /v1/runs/{run_id}/undo': 'nothing_to_undo',
  'POST /v1/runs/{run_id}/resume': 'nothing_to_resume',
  'POST /v1/runs/{run_id}/execute': 'checkout_unknown',
  'POST /v1/memory/outcome': 'memory_not_procedural',
  'POST /v1/runs/{run_id}/recover': 'record_whole',
  'POST /v1/sync/forge-to-agent': 'forge_without_webhooks',
  'POST /v1/events/{event_id}/retry': 'event_not_dead',
};

/** What makes something comes first, what ends it last. */
export function inOrder(routes: readonly Route[]): Route[] {
  const rank = ({ method, path }: Route) => {
    if (method === 'DELETE' || path.endsWith('/cancel') || path.endsWith('/forget')) return 2;
    return method === 'POST' && !path.includes('{') ? 0 : 1;
  };
  return routes.toSorted((a, b) => rank(a) - rank(b));
}

/** The example requests of one service, with the names of what is really there. */
export class ServiceCalls {
  readonly #world: SiteWorld;
  readonly #port: SitePort;
  readonly #planned: PlannedRun | null;
  /** By the first two words of a path: the id of what an earlier request made. */
  readonly #made = new Map<string, string>();

  /** @param planned for the service that knows runs */
  constructor(world: SiteWorld, port: SitePort, planned: PlannedRun | null) {
    this.#world = world;
    this.#port = port;
    this.#planned = planned;
  }

  async ask(route: Route): Promise<Answer> {
    if (route.path.includes('{session_id}')) this.#made.set(concern(route.path), await this.#session());
    const { method, path, withToken, type, body } = exampleRequest(route, (name, of) =>
      this.#named(name, of),
    );
    const aborted = new AbortController();
    const answer = await this.#world.fetch(this.#port, path, {
      method,
      headers: {
        ...(withToken ? { Authorization: `Bearer ${this.#world.token()}` } : {}),
        ...(type === null ? {} : { 'Content-Type': type }),
      },
      ...(body === null ? {} : { body: JSON.stringify(this.#real(body, route.path)) }),
      signal: aborted.signal,
    });
    const contentType = answer.headers.get('content-type');
    if (contentType?.startsWith('text/event-stream')) {
      aborted.abort();
      return { status: answer.status, type: contentType, text: '' };
    }
    const text = await answer.text();
    if (method === 'POST' && answer.ok) this.#remember(route.path, text);
    return { status: answer.status, type: contentType, text };
  }

  /** Signs a browser in to the review page. @returns its session */
  async #session(): Promise<string> {
    const headers = { Authorization: `Bearer ${this.#world.token()}` };
    const made = await this.#world.fetch(this.#port, '/v1/review/links', { method: 'POST', headers });
    const { path } = (await made.json()) as { readonly path: string };
    const opened = await this.#world.fetch(this.#port, path, {});
    const [cookie = ''] = opened.headers.getSetCookie();
    await this.#world.fetch(this.#port, '/sign-in', {
      method: 'POST',
      headers: { cookie: cookie.split(';')[0]! },
      body: new URLSearchParams({ code: new URLSearchParams(path.split('?')[1]).get('code')! }),
      redirect: 'manual',
    });
    const listed = await this.#world.fetch(this.#port, '/v1/review/sessions', { headers });
    const { sessions } = (await listed.json()) as { readonly sessions: readonly { readonly id: string }[] };
    const id = sessions.at(-1)?.id;
    if (id === undefined) throw new Error('nobody was signed in by the link');
    return id;
  }

  #named(parameter: string, path: string): string {
    if (parameter === 'run_id') return this.#planned!.run_id;
    if (parameter === 'action_id') return this.#planned!.action_id;
    if (parameter === 'digest') return this.#planned!.artifact;
    if (path.startsWith('/v1/models')) return 'coder';
    if (path.startsWith('/v1beta/models')) return 'gemini';
    const made = this.#made.get(concern(path));
    if (made === undefined) throw new Error(`nothing was made that ${path} could name`);
    return made;
  }

  #real(body: unknown, path: string): unknown {
    if (path.endsWith('/approval')) return { ...(body as object), digest: this.#planned!.digest };
    // The run that the other requests name goes on waiting beside it.
    if (path === '/v1/runs') return { ...(body as object), keep: true };
    if (path === '/v1/memory/outcome') return { ...(body as object), id: this.#made.get(concern(path)) };
    return body;
  }

  #remember(path: string, text: string): void {
    const { id, event_id } = JSON.parse(text) as { id?: string; event_id?: string | null };
    const made = id ?? event_id;
    if (typeof made === 'string') this.#made.set(concern(path).replace('ingress', 'events'), made);
  }
}

function concern(path: string): string {
  return path.split('/').slice(1, 3).join('/');
}

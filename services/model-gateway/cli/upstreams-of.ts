import { join } from 'node:path';
import { environment } from '#kit/environment.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { Redactor } from '#kit/redaction/redactor.ts';
import { readSmallFile } from '#kit/small-file.ts';
import { adapterParts } from '../compose.ts';
import { type GatewayConfig, type UpstreamEntry, upstreamNames } from '../configuration.ts';
import { UpstreamFailure } from '../providers/failure.ts';
import { minHiddenLength } from '../providers/mask.ts';
import type { ModelCall, Upstream } from '../providers/upstream.ts';
import { hasResponses, liveUpstream } from '../upstreams.ts';

interface ConfiguredUpstream {
  readonly model: string;
  readonly entry: UpstreamEntry;
  readonly credential: 'present' | 'short' | 'missing' | 'none';
  readonly upstream: Upstream;
  /** By which it is tried: one for each interface that it has of its own. */
  readonly endpoints: readonly ProbedEndpoint[];
}

/** Every upstream of the configuration, ready to be asked without the service; `close` ends its connections. */
export function openUpstreams(
  config: GatewayConfig,
  folders: Pick<Folders, 'secrets'> & Pick<Folders, 'state'>,
  version: string,
): { readonly all: readonly ConfiguredUpstream[]; close(): Promise<void> } {
  const parts = adapterParts({ folders, config, redactor: new Redactor(), version, proxies: environment });
  const all = Object.entries(config.models).flatMap(([model, entry]) => {
    const names = upstreamNames(entry);
    return entry.upstreams.map((one, index): ConfiguredUpstream => {
      const facts = { model, name: names[index]!, entry: one, limits: entry.limits };
      return {
        model,
        entry: one,
        credential: credentialState(folders.secrets, one.credential ?? null),
        upstream: liveUpstream(facts, parts),
        endpoints: entry.kind === 'embeddings' ? ['embeddings'] : endpointsOf(one),
      };
    });
  });
  return { all, close: () => parts.connections.destroy() };
}

/** Anthropic's is asked by chat completions, which are translated to it. */
function endpointsOf(entry: UpstreamEntry): readonly ProbedEndpoint[] {
  if (entry.kind === 'google') return ['generateContent'];
  return hasResponses(entry) ? ['chat/completions', 'responses'] : ['chat/completions'];
}

function credentialState(secrets: string, name: string | null): ConfiguredUpstream['credential'] {
  if (name === null) return 'none';
  try {
    const { length } = readSmallFile(join(secrets, name)).trim();
    return length < minHiddenLength ? 'short' : 'present';
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? 'missing' : 'present';
  }
}

interface Probed {
  readonly ok: boolean;
  /** What it answered, or what failed; never a credential. */
  readonly detail: string;
  readonly ms: number;
}

/** Few enough to cost next to nothing, and as many as every upstream takes. */
const tokens = 16;

const message = { role: 'user', content: 'Hi' };
/** The upstream puts its own name for the model there. */
const model = 'probe';
const requests = {
  'chat/completions': { model, messages: [message] },
  embeddings: { model, input: 'Hi' },
  responses: { model, input: 'Hi' },
  generateContent: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
} as const;
type ProbedEndpoint = keyof typeof requests;

/** The smallest request that says whether an upstream answers with its model and its credential. */
export async function probe(upstream: Upstream, endpoint: ProbedEndpoint, waitMs: number): Promise<Probed> {
  const started = performance.now();
  const signal = AbortSignal.timeout(waitMs);
  const ended = (ok: boolean, detail: string): Probed => ({
    ok,
    detail,
    ms: Math.round(performance.now() - started),
  });
  try {
    return ended(true, await answerTo(upstream, callOf(endpoint, signal)));
  } catch (error) {
    if (signal.aborted) return ended(false, `no answer in ${waitMs / 1000} s`);
    const status = error instanceof UpstreamFailure ? `${error.status}: ` : '';
    return ended(false, `${status}${messageOf(error)}`);
  }
}

async function answerTo(upstream: Upstream, call: ModelCall): Promise<string> {
  try {
    return await read(upstream, call);
  } catch (error) {
    // The upstream has learned under which name the model takes the limit.
    if (!(error instanceof UpstreamFailure) || error.status !== 400 || !/max_tokens/.test(error.message))
      throw error;
    return await read(upstream, call);
  }
}

function callOf(endpoint: ProbedEndpoint, signal: AbortSignal): ModelCall {
  const outputLimit = endpoint === 'embeddings' ? null : tokens;
  const request = requests[endpoint];
  const bytes = Buffer.from(JSON.stringify(request));
  return { endpoint, bytes, request, stream: false, includeUsage: false, outputLimit, signal };
}

async function read(upstream: Upstream, call: ModelCall): Promise<string> {
  const answer = await upstream.send(call);
  let bytes = 0;
  for await (const piece of answer.body) bytes += piece.length;
  const usage = answer.usage();
  return usage === null
    ? `${bytes} bytes, no usage reported`
    : `${usage.input} tokens in, ${usage.output} out`;
}

/** @param program as people call it, for example `./core model` */
export function noModel(program: string): string {
  return `No model is configured. ${program} add asks for one, tries it and writes it down.`;
}

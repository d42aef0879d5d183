import { digestOf } from '#kit/digest.ts';
import { mapTexts } from '#kit/map-texts.ts';
import type { Redactor } from '#kit/redaction/redactor.ts';
import { dialectFor } from '../dialects/registry.ts';
import type { Endpoint } from '../providers/endpoints.ts';
import type { ModelCall } from '../providers/upstream.ts';

export interface RecordedRequest {
  /** sha256 over endpoint and request, without what is volatile or secret. */
  readonly key: string;
  /** As it is written: without secrets. */
  readonly request: Readonly<Record<string, unknown>>;
  /** A digest for each message, by which the nearest recording is found. */
  readonly messages: readonly string[];
}

/** Secrets are taken out first, so that a replay, which gives answers without them, is asked by the same keys. */
export function recordedRequest(
  call: Pick<ModelCall, 'endpoint' | 'request'>,
  redactor: Redactor,
): RecordedRequest {
  // Halves of characters have no bytes: what stands for them is written.
  const request = mapTexts(call.request, (text) => redactor.redact(text).toWellFormed());
  const { endpoint } = call;
  return { key: keyOf(endpoint, request), request, messages: messageDigests(endpoint, request) };
}

export function keyOf(endpoint: Endpoint, request: Readonly<Record<string, unknown>>): string {
  return digestOf({ endpoint, request: lasting(request) });
}

/** Of each part of the conversation in order. */
export function messageDigests(endpoint: Endpoint, request: Readonly<Record<string, unknown>>): string[] {
  return dialectFor(endpoint)
    .turns(lasting(request))
    .map((message) => digestOf({ message }));
}

/** Members of a request that say nothing about what is asked. */
const volatileMembers = new Set([
  'user',
  'safety_identifier',
  'metadata',
  'client_metadata',
  'store',
  'prompt_cache_key',
  'prompt_cache_retention',
  'service_tier',
]);

/** What differs between two runs of the same conversation: ids, times, durations and temporary folders. */
const volatileTexts: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<uuid>'],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, '<time>'],
  [/\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b/g, '<digest>'],
  [/\bduration_ms:?\s+\d+(?:\.\d+)?/g, '<duration>'],
  [/\b\d+(?:\.\d+)?\s?(?:ms|µs|s)\b/g, '<duration>'],
  [/(?:\/private)?\/(?:tmp|var\/folders\/\w+\/\w+\/T|var\/tmp)\/[\w.+-]+/g, '<folder>'],
];

/** The request as it identifies a conversation. */
function lasting(request: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const members = Object.entries(request).filter(([name]) => !volatileMembers.has(name));
  return mapTexts(Object.fromEntries(members), (text) =>
    volatileTexts.reduce((lasting, [pattern, name]) => lasting.replaceAll(pattern, name), text),
  );
}

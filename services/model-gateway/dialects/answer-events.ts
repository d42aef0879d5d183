/** Where the id of an answer leads to one of another dialect. */
export function idFrom(prefix: string, id: string): string {
  return `${prefix}_${id.replace(/^chatcmpl-?/, '').replace(/[^\w-]/g, '')}`;
}

/** An event of a stream as its dialect writes it. */
export interface SseEvent {
  readonly event: string;
  readonly data: unknown;
}

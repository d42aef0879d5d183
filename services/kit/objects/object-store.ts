/** Objects of one bucket, by names of letters, digits, `-`, `_` and `/`. */
export interface ObjectStore {
  /** For people: `https://s3.example.org/bucket/prefix/`. */
  readonly name: string;
  /** Durable when it returns. @throws Unavailable (`objects_unavailable`), Failed (`objects_refused`, `bucket_missing` …) */
  put(object: string, content: Uint8Array): Promise<void>;
  /** Piece by piece; null where there is no such object. */
  get(object: string): Promise<AsyncIterable<Uint8Array> | null>;
  /** Done too where there is none. */
  delete(object: string): Promise<void>;
  close(): Promise<void>;
}

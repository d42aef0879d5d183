/** A key of core-model-gateway for one run, given to a program that asks models itself. */
export interface RunKey {
  /** Of the gateway, without `/v1`. */
  readonly url: string;
  readonly key: string;
  /** What the run used so far, with earlier keys too; null where the gateway does not answer. Never throws. */
  usage(): Promise<RunUsage | null>;
  /** Ends the key. Never throws. */
  close(): Promise<void>;
}

export interface RunUsage {
  /** Calls of models. */
  readonly calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_tokens: number;
  /** US dollars. */
  readonly cost: number;
}

export interface RunKeyRequest {
  readonly run_id: string;
  /** The only one that it may ask, by its name in models.json. */
  readonly model: string;
  /** US dollars for all calls of the run, with earlier keys too. */
  readonly money: number;
  /** How long it is good. */
  readonly seconds: number;
}

/** @throws Unavailable (`model_unavailable`) where the gateway does not answer */
export type OpenRunKey = (request: RunKeyRequest) => Promise<RunKey>;

import type { ForgeWriter } from '../../execution/forge-writer.ts';
import type { Forge } from '../../planning/forge.ts';

/** What an adapter is: the composition root hands it out as the narrower port. */
export interface ConfiguredForge extends Forge, ForgeWriter {
  /** What it lacks to be asked without being named, for people; null when nothing. */
  missing(): string | null;
}

export interface RemoteForgeOptions {
  readonly name: string;
  /** What people open in a browser, for example `https://git.example.org`; the API's address follows from it. */
  readonly base_url: string;
  /** Where git reaches the repositories, beside the origin of `base_url`. */
  readonly clone_base_url: string | null;
  readonly token_file: string | null;
  /** Login that the forge sees us as; null asks the forge. */
  readonly account: string | null;
  /** For one request and its answer. */
  readonly timeout_ms: number;
  /** First pause before a read is tried again; the second is four times as long. */
  readonly retry_ms: number;
  /** Keeps the pauses between writes that GitHub asks for. Off only for servers without rate limits. */
  readonly throttle: boolean;
}

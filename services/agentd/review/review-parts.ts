import type { Redactor } from '#kit/redaction/redactor.ts';
import type { ProgressUpdate, RunChanges } from '../agent.ts';
import type { CoreAgent } from '../core-agent.ts';
import type { IdentityProvider } from './oidc/provider.ts';
import type { Sessions } from './session.ts';
import type { SignInStore } from './sign-in-store.ts';

/** What the review page works with. */
export interface ReviewParts {
  readonly agent: CoreAgent;
  readonly changes: RunChanges;
  readonly work: {
    /** Calls with progress of the work on a run here, or null when its record may have changed. @returns ends the watch */
    watch(runId: string, watcher: (update: ProgressUpdate | null) => void): () => void;
  };
  /** Name to path of the working copies that an execution can deliver to, as configured now. */
  readonly checkouts: () => Readonly<Record<string, string>>;
  /** What `--home` of commands must be; undefined where none is needed. */
  readonly home: string | undefined;
  readonly sessions: Sessions;
  readonly signIns: SignInStore;
  /** Where people sign in who have no link, where one is configured. */
  readonly provider: IdentityProvider;
  readonly redactor: Redactor;
  /** Where it is served, for the cookie. */
  readonly binding: {
    readonly port: number;
    readonly behind_proxy: boolean;
    readonly tls: object | null;
  };
}

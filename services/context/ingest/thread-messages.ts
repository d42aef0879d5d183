import type { RefreshedRepository } from '#kit/contracts/context/refresh.ts';
import type { ErrorCopy } from '../record/error-copy.ts';
import type { Progress } from './ingest-repository.ts';
import type { IngestCommands, IngestQueries } from './record-access.ts';

/** From the thread of an ingestion. */
export type ThreadMessage =
  | {
      readonly type: 'ask';
      readonly id: number;
      readonly query: keyof IngestQueries;
      readonly input: unknown;
    }
  | {
      readonly type: 'write';
      readonly id: number;
      readonly command: keyof IngestCommands;
      readonly input: unknown;
    }
  | { readonly type: 'progress'; readonly progress: Progress }
  | { readonly type: 'done'; readonly result: RefreshedRepository }
  | { readonly type: 'failed'; readonly error: ErrorCopy };

/** To it. */
export type AccessAnswer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: ErrorCopy };

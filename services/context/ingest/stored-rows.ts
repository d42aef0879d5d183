import type { RelationKind } from '#kit/contracts/context/vocabulary.ts';
import type { SkippedByContent } from './repository/skipped.ts';

/** What goes to the writer, in this order for each file: `file`, any number of `parts`, `done`; or `skipped` alone. */
export type StoreStep =
  | {
      readonly step: 'file';
      readonly path: string;
      readonly kind: 'file' | 'document';
      readonly properties: NodeProperties;
      readonly text: string;
    }
  | { readonly step: 'parts'; readonly path: string; readonly parts: readonly PartRow[] }
  | {
      readonly step: 'done';
      readonly path: string;
      readonly source: string;
      readonly definitions: string;
      readonly uses: string;
      /** Of all its parts; what the record has beyond is closed. */
      readonly ids: readonly string[];
    }
  | {
      readonly step: 'skipped';
      readonly path: string;
      readonly source: string;
      readonly reason: SkippedByContent;
    };

export type NodeProperties = Readonly<Record<string, string | number | boolean | null>>;

export interface PartRow {
  readonly id: string;
  readonly kind: 'symbol' | 'section' | 'service';
  readonly title: string;
  readonly start_line: number;
  readonly end_line: number;
  readonly properties: NodeProperties;
  readonly text: string;
  /** Id of the node that holds it. */
  readonly parent: string;
  readonly relation: Extract<RelationKind, 'contains' | 'defines'>;
}

/** Kinds of the edges that are made from several files' facts, and lead from a file or from a part of it. */
export const linkKinds = ['imports', 'references', 'mentions', 'changed_with'] as const;
export type LinkKind = (typeof linkKinds)[number];

/** An edge between nodes, by their ids. */
export interface Link {
  readonly from: string;
  readonly kind: LinkKind;
  readonly to: string;
  readonly weight: number;
}

export interface LinkedFile {
  readonly path: string;
  readonly digest: string;
  readonly links: readonly Link[];
}

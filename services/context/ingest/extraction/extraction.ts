import type { LanguageName } from './languages.ts';

/** A piece of a file that becomes a node of its own. */
export interface Part {
  /** `section` is a part of a document by its heading, or of any other text by its lines. */
  readonly node: 'symbol' | 'section' | 'service';
  /** A symbol's qualified name, a section's slug, a service's name. */
  readonly name: string;
  /** Counts from 1 among parts of the same name. */
  readonly nth: number;
  readonly title: string;
  /** What the language calls it: `function`, `class`, …; of a section `heading` or `lines`. */
  readonly sort: string;
  /** Lines count from 1; both ends belong to it. */
  readonly start: number;
  readonly end: number;
  /** Place of the part that holds this one; -1 where it is the file. */
  readonly parent: number;
  /** Its own text, without that of the parts within it. */
  readonly body: string;
  /** The declaration without what it encloses; empty for other parts than symbols. */
  readonly signature: string;
}

/** A module as the language writes it, and what the file calls it or what it takes from there. */
export interface Import {
  readonly module: string;
  readonly names: readonly string[];
}

/** Names that a part uses or mentions; part -1 is the file. A used name stands behind its receiver as identifiers.ts writes it. */
export interface NamesOfPart {
  readonly part: number;
  readonly names: readonly string[];
}

/** What a file says about how others import it. */
export interface ModuleFacts {
  /** Name of the package, or of the Go module, whose root is the file's folder; of a crate as Rust writes it; of a C# file its namespace. */
  readonly name: string | null;
  /** Main file, as written. */
  readonly main: string | null;
  /** Subpath imports of a package.json whose target is one path: `#kit/*` to `./services/kit/*`; `paths` and `baseUrl` of a tsconfig.json, too. */
  readonly imports: Readonly<Record<string, string>>;
}

export interface Extraction {
  readonly language: LanguageName;
  readonly lines: number;
  /** The text of the whole file, cut where it is longer than anybody searches. */
  readonly text: string;
  readonly parts: readonly Part[];
  /** For linking/import-rules.ts to resolve. */
  readonly imports: readonly Import[];
  readonly references: readonly NamesOfPart[];
  readonly mentions: readonly NamesOfPart[];
  readonly module: ModuleFacts | null;
}

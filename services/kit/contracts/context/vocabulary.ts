/** The words of core-context's wire, plain lists without a decoder. */

/** What a `CoreEntity` can be. */
export const entityKinds = [
  'repository',
  'directory',
  'file',
  'symbol',
  'section',
  'document',
  'service',
  'agent',
  'issue',
  'run',
  'artifact',
  'procedure',
] as const;
export type EntityKind = (typeof entityKinds)[number];

export const memoryLayers = ['semantic', 'episodic', 'procedural'] as const;
export type MemoryLayer = (typeof memoryLayers)[number];

/** Kinds of a `CORE_RELATION`. */
export const relationKinds = [
  'contains',
  'defines',
  'references',
  'imports',
  'mentions',
  'has_issue',
  'has_run',
  'has_artifact',
  'touches',
  'changed_with',
] as const;
export type RelationKind = (typeof relationKinds)[number];

/** How many results come where nobody says. */
export const defaultLimit = 10;

/** Properties that are text wherever they are: they can be compared with text that looks like a number. */
export const textual = new Set([
  'id',
  'kind',
  'title',
  'name',
  'path',
  'repository',
  'valid_from',
  'valid_to',
  'layer',
  'run_id',
  'action_id',
  'agent',
  'status',
  'summary',
  'model_provider',
  'model_tier',
  'recovery_branch',
  'risk',
  'approval',
  'content',
  'source',
  'subject',
  'predicate',
  'session',
  'speaker',
  'excerpt',
]);

/** Properties that are whole numbers wherever they are. */
export const integral = new Set(['start_line', 'end_line', 'ordinal', 'number', 'risk_score']);

/** Properties whose numbers may have a fraction. */
export const fractional = new Set(['weight', 'confidence']);

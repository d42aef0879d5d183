/** The words of the bridge, plain lists without a decoder, so that a command line can name them without loading one. */

/** `processing`, `done` and `dead` follow `pending`; `skipped` is never planned. */
export const eventStates = ['pending', 'processing', 'done', 'skipped', 'dead'] as const;

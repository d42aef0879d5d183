import { raw } from 'hono/html';

/**
 * Templates that escape what is put into them. `hono/html` because it is all of that and nothing else: one function without
 * dependencies or a build step, of a project that is released every few weeks and is installed anyway for the Model Context
 * Protocol. `uhtml/ssr` renders through a DOM of its own, and Preact with htm brings components that a page without client state
 * has no use for.
 */
export { html, raw } from 'hono/html';

/** Text that is safe to send as HTML. No template here waits for anything. */
export type Html = ReturnType<typeof raw> | Promise<ReturnType<typeof raw>>;

export const nothing: Html = raw('');

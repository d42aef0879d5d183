import { codeOf, messageOf } from '#kit/errors.ts';
import { once } from '#kit/once.ts';

// What the tests of a whole run ask with; mocha loads this before any of them.

const { fetch } = globalThis;

/** A connection that is kept may be ended by its server in the very moment when it is used again. Loaded for files that ask. */
const keepNoConnections = once(async () => {
  const { Agent, setGlobalDispatcher } = await import('undici');
  setGlobalDispatcher(new Agent({ pipelining: 0 }));
});

/** `fetch failed` alone names neither whom it asked nor why. */
globalThis.fetch = async (input, init) => {
  await keepNoConnections();
  try {
    return await fetch(input, init);
  } catch (error) {
    if (error instanceof TypeError && error.cause !== undefined) {
      const url = input instanceof Request ? input.url : String(input);
      const why = messageOf(error.cause) || codeOf(error.cause);
      error.message += `: ${init?.method ?? 'GET'} ${url}: ${why}`;
    }
    throw error;
  }
};

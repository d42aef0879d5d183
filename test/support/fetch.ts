import { Agent, setGlobalDispatcher } from 'undici';
import { codeOf, messageOf } from '#kit/errors.ts';

// What the tests of a whole run ask with; mocha loads this before any of them.

// A connection that is kept may be ended by its server in the very moment when it is used again.
setGlobalDispatcher(new Agent({ pipelining: 0 }));

const { fetch } = globalThis;

/** `fetch failed` alone names neither whom it asked nor why. */
globalThis.fetch = async (input, init) => {
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

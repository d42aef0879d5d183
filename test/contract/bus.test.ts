import { environment } from '#kit/environment.ts';
import { busContract } from './bus.contract.ts';
import { type BusUnderTest, type OwnEngine, openEngine } from './bus-scene.ts';

describe('the bus, as core-bus-engine speaks it', () => {
  let engine: OwnEngine;

  before(async () => {
    engine = await openEngine();
  });
  after(() => engine.close());

  busContract(() => engine);
});

const { CORE_TEST_III_URL: url, CORE_TEST_III_HTTP_URL: httpUrl } = environment;

// An iii cannot be had everywhere: without these variables there is no such group.
if (url !== undefined && httpUrl !== undefined) {
  describe('the bus, as an iii elsewhere speaks it', () => {
    const elsewhere: BusUnderTest = { url, httpUrl, headers: {} };
    busContract(() => elsewhere);
  });
}

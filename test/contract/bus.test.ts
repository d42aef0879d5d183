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

describe('the bus, as an iii elsewhere speaks it', () => {
  const { CORE_TEST_III_URL: url, CORE_TEST_III_HTTP_URL: httpUrl } = environment;
  if (url === undefined || httpUrl === undefined) {
    it('needs iii 0.22.1: set CORE_TEST_III_URL=ws://… and CORE_TEST_III_HTTP_URL=http://…');
    return;
  }
  const elsewhere: BusUnderTest = { url, httpUrl, headers: {} };
  busContract(() => elsewhere);
});

import { join } from 'node:path';
import { connectBus } from '#kit/bus/websocket-bus.ts';
import { silentLogger } from '#kit/log.ts';
import { ensureTokens, serviceToken } from '#kit/tokens/tokens.ts';
import { type EngineProcess, startEngine } from '../fixtures/bus/engine-process.ts';
import { memoryBus } from '../fixtures/bus/memory-bus.ts';
import { startSmallEngine } from '../fixtures/bus/small-engine.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { busContract } from './bus-client.contract.ts';

const timing = { firstWaitMs: 5, maxWaitMs: 50 };

describe('a client of the bus', () => {
  describe('within one process', () => {
    busContract(async () => {
      const { connect, stop, start } = memoryBus();
      return { connect, stop: async () => stop(), start: async () => start(), close: async () => {} };
    });
  });

  describe('over a websocket to the smallest engine', () => {
    busContract(async () => {
      let engine = await startSmallEngine();
      const { url, port } = engine;
      return {
        connect: (name) => connectBus({ url, token: null, name, logger: silentLogger, timing }),
        stop: () => engine.close(),
        async start() {
          engine = await startSmallEngine({ port });
        },
        close: () => engine.close(),
      };
    });
  });

  describe('over a websocket to core-bus-engine', () => {
    let home: string;
    let token: string;
    let engine: EngineProcess;

    before(async () => {
      home = temporaryFolder();
      const folders = { tokens: join(home, 'config/tokens') };
      ensureTokens(folders);
      token = serviceToken(folders, 'worker');
      engine = await startEngine(home);
    });

    after(() => engine?.kill());

    busContract(async () => ({
      connect: (name) => connectBus({ url: engine.url, token, name, logger: silentLogger, timing }),
      stop: () => engine.kill(),
      async start() {
        engine = await startEngine(home, engine.port);
      },
      close: async () => {},
    }));
  });
});

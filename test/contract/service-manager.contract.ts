import { expect } from 'chai';
import type { ServiceManager } from '../../services/status/managers/service-manager.ts';

/** Services in one condition each, put there for real. */
export interface ManagedScene {
  readonly manager: ServiceManager;
  /** Names of services that are in the condition. */
  readonly running: string;
  /** Ended by itself, and is started again. */
  readonly waiting: string;
  /** Ended, and is not started again. */
  readonly ended: string;
  /** Stopped by a person, with its process still there. */
  readonly stopped: string;
  close(): Promise<void>;
}

export function serviceManagerContract(open: () => Promise<ManagedScene>): void {
  let scene: ManagedScene;
  const unit = async (name: string) => {
    const units = await scene.manager.units(AbortSignal.timeout(100_000));
    return units.get(name);
  };
  before(async () => {
    scene = await open();
  });
  after(() => scene?.close());

  it('says who it is', () => {
    expect(scene.manager.detail).to.be.a('string').and.not.equal('');
  });

  it('finds what runs, and has nothing to do there', async () => {
    expect(await unit(scene.running)).to.include({ state: 'running', fix: null });
  });

  it('says of everything else how it is and what to do', async () => {
    const waiting = await unit(scene.waiting);
    expect(waiting).to.include({ state: 'waiting' });
    const ended = await unit(scene.ended);
    expect(ended?.state).to.equal('failed');
    const stopped = await unit(scene.stopped);
    expect(stopped).to.include({ state: 'stopped' });
    for (const one of [waiting, ended, stopped]) {
      expect(one?.detail).to.be.a('string').and.not.equal('');
      expect(one?.fix).to.be.a('string').and.not.equal('');
    }
  });

  it('reports what a service was started with, or that it does not know', async () => {
    await scene.manager.units(AbortSignal.timeout(100_000));
    const variables = await scene.manager.environment('core-agentd', AbortSignal.timeout(100_000));
    if (variables !== null) expect(variables).to.include({ III_TELEMETRY_ENABLED: 'false', EMPTY: '' });
  });
}

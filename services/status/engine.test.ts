import { expect } from 'chai';
import { functionIds } from '#kit/contracts/bus/function.ts';
import { type EngineEvidence, engineReport } from './engine.ts';

const url = 'ws://127.0.0.1:49134';
const ids = Object.values(functionIds);
const nothing: EngineEvidence = {
  unreachable: null,
  health: null,
  configuration: {},
  functions: null,
  worker: { ok: false, detail: '', took_ms: 0, reaches: null },
  telemetryEnabled: null,
};
const store = (store_method: string) => ({ adapter: { name: 'kv', config: { store_method } } });
const stored = {
  'iii-state': store('file_based'),
  'iii-stream': store('file_based'),
  'iii-queue': store('file_based'),
  'iii-cron': store('file_based'),
};
describe('The report of the engine', () => {
  it('knows telemetry from what the engine was started with', () => {
    const telemetryOf = (telemetryEnabled: string | null) =>
      engineReport(url, { ...nothing, telemetryEnabled }).telemetry_disabled;
    expect(['false', '0', 'true', '', null].map(telemetryOf)).to.deep.equal([true, true, false, false, null]);
  });

  it('believes our own engine what it says of itself', () => {
    const report = engineReport(url, {
      ...nothing,
      configuration: {
        'core-bus-engine': { version: '0.1.0', config_file_active: true, in_memory: false },
        'iii-telemetry': { enabled: false },
        'iii-cron': store('file_based'),
      },
      functions: ids,
    });
    expect(report).to.deep.equal({
      url,
      engine: 'core-bus-engine 0.1.0',
      telemetry_disabled: true,
      in_memory_warning_present: false,
      config_file_active: true,
      functions: { registered: ids, missing: [] },
      unknown: {},
    });
  });

  it('reads an iii by its configuration', () => {
    const health = { status: 'healthy', version: '0.22.1' };
    const report = engineReport(url, {
      ...nothing,
      health,
      configuration: stored,
      telemetryEnabled: 'true',
      functions: [functionIds.health],
    });
    expect(report).to.deep.include({
      engine: 'iii 0.22.1',
      telemetry_disabled: false,
      in_memory_warning_present: false,
      config_file_active: true,
      unknown: {},
    });
    expect(report.functions.missing).to.deep.equal(ids.filter((id) => id !== functionIds.health));
    const inMemory = { ...stored, 'iii-queue': store('in_memory') };
    expect(engineReport(url, { ...nothing, configuration: inMemory })).to.include({
      in_memory_warning_present: true,
      config_file_active: true,
    });
    const none = { 'iii-state': store('in_memory') };
    expect(engineReport(url, { ...nothing, configuration: none })).to.include({ config_file_active: false });
  });

  it('says of each fact that it does not know why not', () => {
    const silent = engineReport(url, nothing);
    expect(silent).to.include({
      engine: 'iii',
      telemetry_disabled: null,
      in_memory_warning_present: null,
      config_file_active: null,
    });
    expect(silent.unknown.in_memory_warning_present).to.match(/^it does not say where iii-state, iii-stream/);
    const away = engineReport(url, { ...nothing, unreachable: 'ECONNREFUSED' });
    expect(away.engine).to.equal(null);
    expect(away.unknown).to.deep.equal({
      telemetry_disabled: 'ECONNREFUSED',
      in_memory_warning_present: 'ECONNREFUSED',
      config_file_active: 'ECONNREFUSED',
    });
  });
});
